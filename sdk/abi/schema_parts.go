package abi

// This file holds what the schema check says of lists and maps.

import "strconv"

func (c *schemaCheck) list(schema Value, word string, rule, v Value, at *place, depth int) string {
	switch word {
	case "minItems", "maxItems":
		return within(word, rule, v.Len(), at)
	case "uniqueItems":
		return unique(rule, v, at)
	case "contains":
		return c.contains(schema, rule, v, at, depth)
	case "items", "prefixItems":
		return c.items(schema, word, rule, v, at, depth)
	}
	return ""
}

func unique(rule, v Value, at *place) string {
	if !rule.Bool() {
		return ""
	}
	seen := map[string]bool{}
	for item := range v.Items() {
		if seen[string(item)] {
			return at.text() + " has an item twice"
		}
		seen[string(item)] = true
	}
	return ""
}

func (c *schemaCheck) contains(schema, rule, v Value, at *place, depth int) string {
	n := 0
	for item := range v.Items() {
		if c.check(rule, item, at, depth) == "" {
			n++
		}
	}
	least, most := schema.Get("minContains"), schema.Get("maxContains")
	if least == nil && n == 0 {
		return at.text() + " has no item of the kind it must contain"
	}
	if problem := within("minContains", least, n, at); problem != "" {
		return problem
	}
	return within("maxContains", most, n, at)
}

// items checks a list's first items each by its own schema, and those behind them by one.
func (c *schemaCheck) items(schema Value, word string, rule, v Value, at *place, depth int) string {
	skip := schema.Get("prefixItems").Len()
	i := -1
	for x := range v.Items() {
		i++
		sub := rule
		if word == "prefixItems" {
			if i >= skip {
				break
			}
			sub = item(rule, strconv.Itoa(i))
			c.spend(SchemaByte * int64(len(rule)))
		} else if i < skip {
			continue
		}
		if problem := c.check(sub, x, &place{at, "", i}, depth); problem != "" {
			return problem
		}
	}
	return ""
}

func (c *schemaCheck) object(schema Value, word string, rule, v Value, at *place, depth int) string {
	switch word {
	case "minProperties", "maxProperties":
		return within(word, rule, v.Len(), at)
	case "required":
		return c.required(rule, v, at)
	case "properties":
		for k, sub := range rule.Pairs() {
			c.spend(SchemaByte * int64(len(v)))
			if x := v.Get(k.Text()); x != nil {
				if problem := c.check(sub, x, &place{at, k.Text(), -1}, depth); problem != "" {
					return problem
				}
			}
		}
	case "additionalProperties":
		return c.others(schema, rule, v, at, depth)
	case "propertyNames":
		for k := range v.Pairs() {
			if problem := c.check(rule, k, &place{at, k.Text(), -1}, depth); problem != "" {
				return problem
			}
		}
	case "dependentRequired":
		for k, names := range rule.Pairs() {
			c.spend(SchemaByte * int64(len(v)))
			if v.Get(k.Text()) == nil {
				continue
			}
			if problem := c.required(names, v, at); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func (c *schemaCheck) required(names, v Value, at *place) string {
	for name := range names.Items() {
		c.spend(SchemaByte * int64(len(v)))
		if v.Get(name.Text()) == nil {
			return (&place{at, name.Text(), -1}).text() + " is missing"
		}
	}
	return ""
}

// others checks what properties doesn't name. Where names are chosen by patterns, which aren't looked at here, it says nothing.
func (c *schemaCheck) others(schema, rule, v Value, at *place, depth int) string {
	if schema.Get("patternProperties") != nil {
		return ""
	}
	known := schema.Get("properties")
	for k, x := range v.Pairs() {
		c.spend(SchemaByte * int64(len(known)))
		if known.Get(k.Text()) != nil {
			continue
		}
		if problem := c.check(rule, x, &place{at, k.Text(), -1}, depth); problem != "" {
			return problem
		}
	}
	return ""
}
