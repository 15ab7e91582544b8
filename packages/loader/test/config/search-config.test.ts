import { expect, test } from 'vitest'
import { validateConfig } from '../../src/config/config-file.ts'

const provider = { type: 'json', url: 'https://a.example' }

test.each<[name: string, written: object, path: string, message: RegExp]>([
  [
    'an unknown variable', { ...provider, query: { q: '{qurey}' } }, '/query/q',
    new RegExp(String.raw`must be a string with no other variable than \{query\}, \{max_results\}, \{secret\}, `
      + String.raw`and not \{qurey\}\. Did you mean "\{query\}"\?$`),
  ],
  [
    'a query in a header', { ...provider, headers: { a: '{query}' } }, '/headers/a',
    /no other variable than \{secret\}, and not \{query\}\.$/,
  ],
  [
    'a secret in the body', { ...provider, secret: 'KEY', body: { a: [{ b: '{secret}' }] } }, '/body',
    /expected a string with no other .* and not \{secret\}\.$/,
  ],
  ['a secret in the address', { ...provider, url: 'https://a.example/{secret}' }, '/url', /and not \{secret\}\.$/],
  [
    'a variable in the host', { ...provider, url: 'https://{query}.example/' }, '/url',
    /must be a URL with variables in its path and query only\.$/,
  ],
  ['GET with a body', { ...provider, method: 'GET', body: {} }, '/method', /GET cannot have a body; use POST\.$/],
  [
    'a secret that has no name', { ...provider, headers: { 'x-key': '{secret}' } }, '/secret',
    /\{secret\} is used, so name the secret\.$/,
  ],
  [
    'a path that is no pointer', { ...provider, titlePath: 'title' }, '/titlePath',
    /must be a JSON Pointer such as \/data\/hits\.$/,
  ],
  ['an unknown key', { ...provider, heders: {} }, '/heders', /is not a known key; perhaps it is "headers"\.$/],
  [
    'a key of another service', { type: 'brave', secret: 'KEY', url: 'https://a.example' }, '/url',
    /url is not a known key\.$/,
  ],
  [
    'an unknown service', { type: 'bravo', secret: 'KEY' }, '/type',
    /must be "brave" or "tavily" or "exa" or "google-cse" or "searxng" or "json"\.$/,
  ],
  ['a service without its secret', { type: 'tavily' }, '/secret', /is missing/],
])('a search provider with %s is reported, and no provider is used', (_, written, path, message) => {
  const { config, faults } = validateConfig({
    search: { providers: [{ type: 'exa', secret: 'KEY' }, written as never], callsPerSession: 3 },
  })
  expect(faults).toMatchObject([{ path: `/search/providers/1${path}`, message: expect.stringMatching(message) }])
  expect(config).toEqual({ search: { callsPerSession: 3 } })
})
