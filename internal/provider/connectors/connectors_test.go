package connectors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
)

// complete are options with which each connector can be made.
func complete(name string) connectors.Options {
	o := connectors.Options{Address: "http://127.0.0.1:1", Account: "acct_1", Timeout: time.Second, Grace: time.Minute}
	if name == "stripe" {
		o.Key = "sk_test_1"
	}
	return o
}

func TestU1_EachConnectorHasItsNameAndSoundCapabilities(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"simulated", "simulated-bare", "simulated-keysonly", "simulated-nokeys", "stripe"}, connectors.Names())
	for _, name := range connectors.Names() {
		connector, err := connectors.New(name, complete(name))
		require.NoError(t, err)
		require.Equal(t, name, connector.Name())
		require.Regexp(t, "^"+name+"/.+@acct_1(/test)?$", connector.Recipe(), "an attempt names the account that it was sent to")
		declared := connector.Capabilities()
		require.NoError(t, declared.Validate())
		require.Equal(t, time.Second, declared.Timeout)
		if declared.Inquiry.Supported {
			require.Equal(t, time.Minute, declared.Inquiry.Grace)
		}
		_, prepares := connector.(provider.Preparer)
		require.Equal(t, prepares, declared.Prepares)
		_, lists := connector.(provider.Lister)
		require.True(t, lists)
	}
}

func TestU1_WhatAConnectorDeclaresNeedsNeitherKeyNorAddress(t *testing.T) {
	t.Parallel()
	for _, name := range connectors.Names() {
		declared, err := connectors.Declared(name)
		require.NoError(t, err)
		require.NoError(t, declared.Validate())
	}
	_, err := connectors.Declared("strype")
	require.ErrorContains(t, err, `"strype" is no connector`)
}

func TestO6_AnUnknownConnectorIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := connectors.New("strype", connectors.Options{})
	require.ErrorContains(t, err, `"strype" is no connector; known are simulated, simulated-bare`)
	for name, spoilt := range map[string]connectors.Options{
		"simulated":        {Address: "nonsense"},
		"simulated-bare":   {Address: "http://127.0.0.1:1", Key: "sk_s3cret"},
		"stripe":           {Key: "pk_s3cret"},
		"simulated-nokeys": {},
	} {
		connector, err := connectors.New(name, spoilt)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "s3cret")
		require.Nil(t, connector)
	}
}
