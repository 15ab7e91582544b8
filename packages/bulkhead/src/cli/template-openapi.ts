import { common, json, readme } from './template-parts.ts'

/** Tools for the operations of an OpenAPI document. */
export function openapi(id: string) {
  return {
    'openapi.json': json({
      openapi: '3.1.1', info: { title: id, version: '1.0.0' }, servers: [{ url: 'https://api.example.com/v1' }],
      paths: {
        '/forecast/{city}': {
          get: {
            operationId: 'get_forecast', summary: 'Gets the weather forecast of a city.',
            parameters: [
              {
                name: 'city', in: 'path', required: true, description: 'The name of the city.',
                schema: { type: 'string', minLength: 1, maxLength: 100 },
              },
              {
                name: 'days', in: 'query', description: 'The number of days. Default: 1.',
                schema: { type: 'integer', minimum: 1, maximum: 7 },
              },
            ],
          },
        },
      },
    }),
    'index.ts': `import { defineExtension, defineTool, ToolError } from '@bulkhead/contract/author'
import api from './openapi.json' with { type: 'json' }

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description: string
  readonly schema: object
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly Parameter[]
}

const base = api.servers[0]!.url

/** The tool for one operation. Add what your API needs: a body, a secret, other answers. */
export function toolOf(method: string, path: string, { summary, parameters }: Operation) {
  const keys = parameters.filter(({ in: part }) => part === 'path').map(({ name }) => \`{\${name}}\`)
  return defineTool({
    description: summary,
    ...(keys.length > 0 && { approvalKey: keys.join('/') }),
    input: {
      type: 'object', additionalProperties: false,
      required: parameters.filter(({ required }) => required).map(({ name }) => name),
      properties: Object.fromEntries(
        parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ),
    },
    output: { type: 'object', properties: { status: { type: 'integer' }, body: {} }, required: ['status', 'body'] },
    requires: { net: { hosts: [new URL(base).host] } },
    mode: 'external',
    idempotent: method === 'get',
    async execute(args: Readonly<Record<string, unknown>>, runtime) {
      const place = path.replaceAll(/\\{(\\w+)\\}/g, (_, name: string) => encodeURIComponent(String(args[name])))
      const url = new URL(base + place)
      for (const { name, in: part } of parameters) {
        if (part === 'query' && args[name] !== undefined) url.searchParams.set(name, String(args[name]))
      }
      const response = await runtime.net.fetch(url.href, { method: method.toUpperCase() })
      if (response.status === 404) throw new ToolError('NotFound', \`\${url.pathname} was not found.\`)
      if (response.status >= 400) throw new ToolError('ToolExecutionFailed', \`The API answered \${response.status}.\`)
      return { status: response.status, body: await response.json() }
    },
  })
}

const operations = Object.entries(api.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method, path, operation: operation as Operation })))

export default defineExtension({
  tools: Object.fromEntries(operations.map(
    ({ method, path, operation }) => [operation.operationId, toolOf(method, path, operation)],
  )),
})
`,
    'test/index.test.ts': `import { expect, it } from 'vitest'
import { toolOf } from '../index.ts'

it('puts arguments into the path and the query', async () => {
  const parameter = { description: '', schema: {} }
  const tool = toolOf('get', '/a/{b}', {
    operationId: 'a', summary: '',
    parameters: [{ ...parameter, name: 'b', in: 'path' }, { ...parameter, name: 'c', in: 'query' }],
  })
  const requests: string[] = []
  const runtime = {
    net: {
      async fetch(url: string) {
        requests.push(url)
        return {
          url, status: 200, headers: {}, body: (async function* () {})(),
          text: async () => '1', json: async () => 1, bytes: async () => new Uint8Array(),
        }
      },
    },
  }
  expect(await tool.execute({ b: 'x/y', c: 2 }, runtime)).toEqual({ status: 200, body: 1 })
  expect(requests).toEqual([expect.stringMatching(/\\/a\\/x%2Fy\\?c=2$/)])
})
`,
    'README.md': readme(id, 'Tools for an HTTP API.', `Replace \`openapi.json\` by the description of your API. Each operation becomes a tool;
\`index.ts\` shows how.

\`\`\`sh
npm install
npx bulkhead call . get_forecast --args '{"city":"Oslo"}'
\`\`\`
The tools reach the host of the API, and can do nothing else.
`),
    ...common(id, { description: 'Tools for an HTTP API.', language: 'ts' }),
  }
}
