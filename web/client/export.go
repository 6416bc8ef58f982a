package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"tributary/queries/report"
)

// SQL is report.SQL on a store of the server.
func (c *Client) SQL(ctx context.Context, store, statement string, w io.Writer, format string) error {
	return c.export(ctx, "/sql/export", map[string]any{"store": store, "statement": statement}, w, format)
}

// Recipe writes the rows of the answer to a recipe, with what is given for its parameters.
func (c *Client) Recipe(ctx context.Context, name string, parameters map[string]string, w io.Writer, format string) error {
	return c.export(ctx, "/recipes/"+url.PathEscape(name)+"/export", map[string]any{"parameters": parameters}, w, format)
}

// Recipes gives the recipes of the server, by name, and what they ask.
func (c *Client) Recipes(ctx context.Context, each func(name, question string) error) error {
	return rows(ctx, c, "/recipes", nil, func(r struct{ Name, Question string }) error { return each(r.Name, r.Question) })
}

// export writes rows as they come.
func (c *Client) export(ctx context.Context, path string, asked map[string]any, w io.Writer, format string) error {
	asked["format"] = format
	if format == report.EscapedCSV {
		asked["format"], asked["escape_formulas"] = report.CSV, true
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.server, err)
	}
	r, err := c.request(ctx, http.MethodPost, path, nil, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/octet-stream, application/json")
	response, err := c.patient().Do(r)
	if err != nil {
		return c.unreachable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/octet-stream" {
		a, err := c.answered(response)
		if err != nil {
			return err
		}
		return c.read(ctx, a, &struct{}{})
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("the rows are not whole: %w", err)
	}
	return nil
}
