package httpapi

import "net/http"

// routes are the endpoints, all of them. What the document says of each stands
// beside its handler.
func routes() []route {
	return []route{
		{http.MethodPost, "/v1/payments", byPatientMerchant((*api).postPayment), aboutPostPayment()},
		{http.MethodGet, "/v1/payments", byMerchant((*api).listPayments), aboutListPayments()},
		{http.MethodGet, "/v1/payments/{id}", byPatientMerchant((*api).getPayment), aboutGetPayment()},
		{http.MethodGet, "/v1/payments/{id}/events", byMerchant((*api).getHistory), aboutGetHistory()},
		{http.MethodPost, "/v1/payments/{id}/cancel", byMerchant((*api).postCancel), aboutPostCancel()},
		{http.MethodPost, "/v1/payments/{id}/refunds", byMerchant((*api).postRefund), aboutPostRefund()},
		{http.MethodGet, "/v1/payments/{id}/refunds", byMerchant((*api).getRefunds), aboutGetRefunds()},
		{http.MethodGet, "/v1/refunds/{id}", byMerchant((*api).getRefund), aboutGetRefund()},
		{http.MethodPost, "/v1/providers/{account}/webhooks", byProvider((*api).postWebhook), aboutPostWebhook()},
		{http.MethodGet, "/openapi.yaml", (*api).document, aboutGetDocument()},
	}
}
