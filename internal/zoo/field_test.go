package zoo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-go/rehearse/invariants"
	"github.com/rehearse-go/rehearse/matrix"
)

const (
	fieldCases = "../../docs/field.md"
	root       = "../.."
)

// TestFieldPageSaysWhatIsThere holds docs/field.md against the repository.
func TestFieldPageSaysWhatIsThere(t *testing.T) {
	page, wrong := readFieldPage(fieldText(t))
	if len(page.cases) != 50 || len(page.needs) != 46 {
		t.Errorf("docs/field.md has %d cases and %d needs, the collection has 50 and 46", len(page.cases), len(page.needs))
	}
	for _, w := range append(wrong, page.complaints(known(t), killers(read(t, killTable)), Faulty())...) {
		t.Errorf("docs/field.md: %s", w)
	}
}

// TestNumbersInTheCodeHaveALine wants a line for every case and every rule of
// the collection that the code or the kill table speaks of.
func TestNumbersInTheCodeHaveALine(t *testing.T) {
	page, _ := readFieldPage(fieldText(t))
	number := regexp.MustCompile(`\b(F\d{3}|rule \d+)\b`)
	for _, file := range append(sources(t, ".go"), killTable) {
		for _, n := range number.FindAllString(read(t, file), -1) {
			if _, ok := page.cases[n]; !ok && !page.rules[n] && filepath.Base(file) != "field_test.go" {
				t.Errorf("%s speaks of %s, which has no line in docs/field.md", file, n)
			}
		}
	}
}

// TestFieldPageCanBeWrong breaks the page in one place each and wants to be told.
func TestFieldPageCanBeWrong(t *testing.T) {
	text, names, finders := fieldText(t), known(t), killers(read(t, killTable))
	for _, tt := range []struct{ old, new, want string }{
		{"`nil-after-exhaustion`", "`nil-after-exhaution`", "F003: there is no subject nil-after-exhaution"},
		{"row `hint-above-limit`", "row `hint-over-limit`", "F012: there is no row hint-over-limit"},
		{"invariant `circuit-breaker`", "invariant `fuse`", "F052: there is no invariant fuse"},
		{"test `trace.TestParseRetryAfter`", "test `trace.TestParse`", "F010: there is no test trace.TestParse"},
		{"API `faultsim.Batch`", "API `faultsim.Bach`", "batch-partial: there is no API faultsim.Bach"},
		{"`faultsim.Fault.Items`", "`faultsim.Fault.Item`", "batch-partial: there is no API faultsim.Fault.Item"},
		{"subject `shift-overflow`, ", "subject ", "shift-overflow: the line of its source F005 does not name it"},
		{"| F044 |", "| F144 |", "cancelled-and-completed: its source F044 has no line"},
		{"- rule 11: ", "- rule 12: ", "breaker-blames-wrong-arguments: its source rule 11 has no line"},
		{"#7554](", "#7555](", "F003: its source is no link to the issue that it names"},
		{"invariant `circuit-breaker`", "invariant `no-spin`", "F052: the invariant no-spin finds no subject of the line first"},
		{"row `hint-above-limit`", "row `hint-of-zero`", "F012: the row hint-of-zero finds no subject of the line first"},
		{"| F003 |", "| F002 |", "F002: it is there twice"},
		{"open: no contract of a limiter", "later", `limiter-model: "later" is neither a kind`},
		{"open: no contract of a limiter", "open: no `Limiter`", "limiter-model: \"open: no `Limiter`\" quotes a name"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("docs/field.md has no %q: choose another place to break", tt.old)
			}
			page, wrong := readFieldPage(strings.Replace(text, tt.old, tt.new, 1))
			wrong = append(wrong, page.complaints(names, finders, Faulty())...)
			if !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, tt.want) }) {
				t.Errorf("not told: %q", wrong)
			}
		})
	}
}

func fieldText(t *testing.T) string { return read(t, fieldCases) }

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// known collects the names of each kind that the repository has.
func known(t *testing.T) map[string]map[string]bool {
	t.Helper()
	names := map[string]map[string]bool{}
	for _, kind := range fieldKinds {
		names[kind] = map[string]bool{}
	}
	for _, r := range matrix.Rows() {
		names["row"][r.Name] = true
	}
	for _, s := range append(Faulty(), Right()...) {
		names["subject"][s.Name] = true
		for _, inv := range rulesOf(s) {
			names["invariant"][inv.Name] = true
		}
	}
	for _, file := range sources(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		kind := "API"
		if strings.HasSuffix(file, "_test.go") {
			kind = "test"
		}
		for _, name := range declared(parsed) {
			names[kind][filepath.ToSlash(dir)+"."+name] = true
		}
	}
	return names
}

// rulesOf lists the rules that the subject is held to.
func rulesOf(s Specimen) []invariants.Invariant {
	all := slices.Concat(s.Adapter.Invariants, s.Adapter.Policy.Invariants())
	if s.Adapter.Breaker != nil {
		all = append(all, s.Adapter.Breaker.Invariants(s.Adapter.Policy)...)
	}
	return all
}

// sources lists the files of the module whose names end in ext.
func sources(t *testing.T, ext string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir // other tests write there
		case !d.IsDir() && strings.HasSuffix(path, ext):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// declared lists the exported names of a file: functions, types, their methods
// and fields, constants and variables.
func declared(f *ast.File) (names []string) {
	add := func(owner, name string) {
		if ast.IsExported(name) && (owner == "" || ast.IsExported(owner)) {
			names = append(names, strings.TrimPrefix(owner+"."+name, "."))
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(receiver(d), d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				declaredBy(spec, add)
			}
		}
	}
	return names
}

func declaredBy(spec ast.Spec, add func(owner, name string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			add("", n.Name)
		}
	case *ast.TypeSpec:
		add("", spec.Name.Name)
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					add(spec.Name.Name, n.Name)
				}
			}
		}
	}
}

// receiver is the name of the type that a method has; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	if g, ok := typ.(*ast.IndexListExpr); ok {
		typ = g.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return "?" // no such type is exported
}
