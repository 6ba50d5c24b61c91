package architecture

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is this repository's source, read once.
var repository = sync.OnceValues(func() (*tree, error) { return load(os.DirFS("../..")) })

// hold fails once for each place that breaks the rule.
func hold(t *testing.T, check func(*tree) []violation) {
	t.Helper()
	source, err := repository()
	require.NoError(t, err)
	for _, v := range check(source) {
		t.Error(v)
	}
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	hold(t, packages.check)
}

// A table that allows more than is used says nothing about the code.
func TestTheTableOfArrowsIsNoWiderThanTheCode(t *testing.T) {
	t.Parallel()
	hold(t, packages.unused)
}

func TestEveryTableIsWrittenByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	hold(t, tables.check)
}

func TestEveryTableHasAnOwner(t *testing.T) {
	t.Parallel()
	hold(t, tables.checkTables)
}

func TestPackageNamesSayWhatIsInside(t *testing.T) {
	t.Parallel()
	hold(t, func(source *tree) []violation { return checkNames(source, vague) })
}

func TestLibraryPackagesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	hold(t, checkUniqueNames)
}

func TestFilesAndFunctionsStayShort(t *testing.T) {
	t.Parallel()
	hold(t, sizes.check)
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	hold(t, checkPackageComments)
}

func TestTestsNeitherSleepNorSkip(t *testing.T) {
	t.Parallel()
	hold(t, checkTests)
}
