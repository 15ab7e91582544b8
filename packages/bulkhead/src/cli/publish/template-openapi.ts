import { common, json, rangeOf, readme } from './template-parts.ts'

/** Tools for the operations of an OpenAPI document. */
export function openapi(id: string) {
  return {
    'openapi.json': json({
      openapi: '3.1.1', info: { title: id, version: '1.0.0' }, servers: [{ url: 'https://api.example.com/v1' }],
      paths: {
        '/forecast/{city}': {
          get: {
            operationId: 'get_forecast', summary: DESCRIPTION,
            parameters: [
              { name: 'city', in: 'path', required: true, schema: CITY }, { name: 'days', in: 'query', schema: DAYS },
            ],
          },
        },
      },
    }),
    'generate.ts': `// Writes api.json, of which index.ts makes tools: "npm run generate", after each change of the document.
import { writeFileSync } from 'node:fs'
import { describeDocument } from '@bulkhead/bridges/openapi'

// In JSON or YAML. Files that it refers to are read as well.
const { extension, notes } = await describeDocument(new URL('./openapi.json', import.meta.url), {
  id: '${id}',
  // Where the API is, if the document has no server with a whole address:
  // baseUrl: 'https://api.example.com/v1',
  // Some of the operations: operations, tags, paths (their beginnings), methods.
  // paths: ['/forecast'],
  // Names of the secrets, by security scheme. Without this, each scheme has one.
  // security: { api_key: { secret: 'FORECAST_KEY' } },
})
for (const note of notes) console.warn(note)
writeFileSync(new URL('./api.json', import.meta.url), \`\${JSON.stringify(extension, null, 2)}\\n\`)
`,
    'api.json': json(API),
    'index.ts': `import { openapiExtension } from '@bulkhead/bridges/openapi/extension'
import api from './api.json' with { type: 'json' }

export default openapiExtension(api)
`,
    'test/index.test.ts': `import { expect, it } from 'vitest'
import api from '../api.json' with { type: 'json' }
import extension from '../index.ts'

it('has a tool for each operation in api.json', () => {
  expect(Object.keys(extension.tools)).toEqual(api.tools.map(({ name }) => name))
})

// An operation of the example. Write a test like this one for yours.
it.runIf('get_forecast' in extension.tools)('puts arguments into the path and the query', async () => {
  const requests: string[] = []
  const runtime = {
    net: {
      async fetch(url: string) {
        requests.push(url)
        return {
          url, status: 200, headers: {}, body: (async function* () { yield Buffer.from('1') })(),
          text: async () => '1', json: async () => 1, bytes: async () => Buffer.from('1'),
        }
      },
    },
  }
  const answer = await extension.tools['get_forecast']!.execute({ city: 'x/y', days: 2 }, runtime)
  expect(answer).toMatchObject({ data: { status: 200 } })
  expect(requests).toEqual([expect.stringMatching(/\\/forecast\\/x%2Fy\\?days=2$/)])
})
`,
    'README.md': readme(id, 'Tools for an HTTP API.', `Replace \`openapi.json\` by the description of your API, OpenAPI 3.0 or 3.1, in JSON or YAML, with the files that it
refers to. \`generate.ts\` names it, and may choose operations. Then each operation is a tool:

\`\`\`sh
npm install
npm run generate
npx bulkhead call . get_forecast --args '{"city":"Oslo"}'
\`\`\`
The tools reach the host of the API, and can do nothing else. A security scheme of the document becomes a secret that
they never see; \`npm run generate\` prints its name.
`),
    ...common(id, {
      description: 'Tools for an HTTP API.', language: 'ts', scripts: { generate: 'node generate.ts' },
      dependencies: { '@bulkhead/bridges': rangeOf('@bulkhead/bridges') },
    }),
  }
}

const DESCRIPTION = 'Gets the weather forecast of a city.'
const CITY = { type: 'string', minLength: 1, maxLength: 100, description: 'The name of the city.' }
const DAYS = { type: 'integer', minimum: 1, maximum: 7, description: 'The number of days. Default: 1.' }

/** What generate.ts makes of the document. A test compares them. */
const API = {
  baseUrl: 'https://api.example.com/v1',
  secrets: [],
  tools: [{
    name: 'get_forecast',
    declared: {
      label: DESCRIPTION, description: DESCRIPTION, requires: { net: { hosts: ['api.example.com:443'] } },
      gated: true, mode: 'external', effects: 'none', kind: 'fetch', timeoutMs: 30_000, approvalKey: '{city}',
      input: {
        type: 'object', properties: { city: CITY, days: DAYS }, required: ['city'], additionalProperties: false,
      },
    },
    operation: {
      operationId: 'get_forecast', method: 'GET', path: '/forecast/{city}',
      parameters: [
        {
          argument: 'city', name: 'city', in: 'path', style: 'simple', explode: false, json: false, reserved: false,
        },
        { argument: 'days', name: 'days', in: 'query', style: 'form', explode: true, json: false, reserved: false },
      ],
      body: null,
    },
    credentials: [],
  }],
}
