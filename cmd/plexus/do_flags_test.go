package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plexus/sdk/client"
)

const allKinds = `{"type":"object","required":["id","n"],"properties":{
	"id":{"type":"string","minLength":1,"maxLength":3,"description":"The ` + "`name`" + ` of it."},
	"n":{"type":"integer","minimum":0,"maximum":9,"default":5},
	"f":{"type":["number","null"]},
	"on":{"type":"boolean"},
	"how":{"enum":["fast","slow"],"default":"slow"},
	"level":{"type":"integer","enum":[1,2]},
	"tags":{"type":"array","items":{"type":"string"}},
	"votes":{"type":"array","items":{"type":"integer","maximum":3}},
	"ways":{"type":"array","items":{"enum":["in","out"]}},
	"rest":{"type":"object"},
	"any":{},
	"either":{"anyOf":[{"type":"object"},{"type":"boolean"}]},
	"-bad":{}, "a b":{}, "help":{}}}`

func flagsOf(params string) (*parameters, *cobra.Command) {
	root := &cobra.Command{Use: "plexus"}
	root.PersistentFlags().String("dir", "", "the data directory")
	return newParameters(client.PluginAction{Name: "go", About: "Goes.", Params: json.RawMessage(params)}), root
}

func TestFlagsAreMadeOfTheSchema(t *testing.T) {
	p, cmd := flagsOf(allKinds)
	got, err := p.parse(cmd, []string{"s", "p", "go"}, strings.Fields(`--id äöü --n 9 --f 1.50 --on --how fast --level 2 --tags a,b --tags c --votes 1 --votes 3 --ways in --rest {"x":1} --any 7 --either true`))
	want := `{"any":7,"either":true,"f":1.50,"how":"fast","id":"äöü","level":2,"n":9,"on":true,"rest":{"x":1},"tags":["a,b","c"],"votes":[1,3],"ways":["in"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	p, cmd = flagsOf(allKinds)
	if got, err := p.parse(cmd, nil, strings.Fields(`--id a --n 1 --n 2 --on=false --any text`)); err != nil || string(got) != `{"any":"text","id":"a","n":2,"on":false}` {
		t.Errorf("%s, %v", got, err)
	}
	p, cmd = flagsOf(allKinds)
	if got, err := p.parse(cmd, nil, []string{"--params", `{"z":1}`}); err != nil || string(got) != `{"z":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--id abcd --n 1":         `--id must have 1 to 3 characters, not 4, and is "abcd"`,
		"--id a --n x":            `--n must be a whole number, and is "x"`,
		"--id a --n 1.5":          `--n must be a whole number`,
		"--id a --n 10":           `--n must be at most 9`,
		"--id a --n -1":           `--n must be at least 0`,
		"--id a --n 1 --f x":      `--f must be a number`,
		"--id a --n 1 --on=maybe": `--on must be true or false`,
		"--id a --n 1 --how fats": `--how must be one of: fast, slow, did you mean fast?`,
		"--id a --n 1 --level 3":  `--level must be one of: 1, 2`,
		"--id a --n 1 --votes 4":  `--votes must be at most 3`,
		"--id a --n 1 --ways up":  `--ways must be one of: in, out`,
		"--id a --n 1 --rest 5":   `--rest must be a JSON object, such as {"a":1}`,
		"--id a":                  `--n is required`,
		"":                        `--id, --n are required`,
		"--id":                    `flag needs an argument: --id`,
		"--id a --n 1 word":       `"word" is no flag`,
		"--params x":              `--params`,
		"--params=":               `--params`,
		"--tagz a":                `unknown flag: --tagz`,
	} {
		p, cmd := flagsOf(allKinds)
		_, err := p.parse(cmd, []string{"s", "p", "go"}, strings.Fields(args))
		e := asError(err)
		if err == nil || e.Code != client.CodeInvalid || !strings.Contains(e.Detail, want) || e.Hint == "" {
			t.Errorf("%s: %v, hint %q; want %q", args, err, e.Hint, want)
		}
		if args == "--tagz a" && !strings.Contains(e.Hint, "did you mean --tags? plexus do s p go --help") {
			t.Errorf("hint %q", e.Hint)
		}
	}
}

func TestHelpShowsTypes(t *testing.T) {
	p, _ := flagsOf(allKinds)
	var out bytes.Buffer
	p.usage(&out, []string{"s", "p", "go"})
	for _, want := range []string{
		"--id string", "The 'name' of it. Required.", "--n integer", "From 0 to 9. Required. (default 5)", "--f number", "--on ", "--how string", `One of: fast, slow. (default "slow")`,
		"--level integer", "One of: 1, 2.", "--tags string", "May be given again.", "--votes integer", "At most 3. May be given again.", "--rest json", "--any value", "plexus do s p go [flags]",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, out.String())
		}
	}
	for _, params := range []string{"", "true", `{"properties":5}`} {
		if p, _ := flagsOf(params); len(p.values) != 0 || p.flags.Lookup("params") == nil {
			t.Errorf("%q gives %v", params, p.values)
		}
	}
}
