import type { JsonObject } from '@bulkhead/kit/json'
import type { Example } from './package-of.ts'

/** The parts that every good example has. */
export function extension(id: string, tools: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    $schema: './bulkhead.schema.json', kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id,
    version: '1.0.0', title: id, description: 'An example of a conforming extension.', tools: [...tools], ...more,
  }
}

export const input = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject =>
  ({ type: 'object', properties, required: [...required], additionalProperties: false })

export const WORD: JsonObject = { type: 'string', minLength: 1, maxLength: 200, description: 'A word or a sentence.' }

export const SHOUT: JsonObject = {
  name: 'shout', description: 'Returns the text in capital letters.', inputSchema: input({ text: WORD }),
  outputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  mode: 'read', gated: false,
}
export const SHOUT_CODE =
  'export default { tools: { shout: { execute: ({ text }) => ({ text: text.toUpperCase() }) } } }\n'

export const PATH = { type: 'string', minLength: 1, maxLength: 200, description: 'Path in the workspace.' }
export const NAME = { type: 'string', pattern: '^[a-z]{1,30}$', description: 'A name in lower case.' }
export const object = (properties: JsonObject): JsonObject =>
  ({ type: 'object', properties, required: Object.keys(properties) })
export const one = (name: string, tool: JsonObject, execute: string, more: JsonObject = {}, before = ''): Example => ({
  manifest: extension(name.replaceAll('_', '-'), [{ name, ...tool }], more),
  code: `import { ToolError } from '@bulkhead/contract/author'
${before}
export default { tools: { ${name}: { async execute(args, runtime) {
${execute}
} } } }
`,
})

export const PAUSE = `
const pause = (ms, signal) => new Promise((done, fail) => {
  const stop = () => { clearTimeout(timer); fail(signal.reason) }
  const timer = setTimeout(() => { signal.removeEventListener('abort', stop); done() }, ms)
  signal.addEventListener('abort', stop, { once: true })
})
`

export interface SloppyExample extends Example {
  /** The checks that it must fail. All others hold. */
  readonly fails: readonly string[]
  /** The checks that cannot run. */
  readonly skips?: readonly string[]
}

export const shout = (change: JsonObject): JsonObject => ({ ...SHOUT, ...change })
export const withTool = (change: JsonObject, more?: JsonObject): Omit<Example, 'code'> =>
  ({ manifest: extension('sample', [shout(change)], more) })
export const withCode = (code: string): Example => ({ manifest: extension('sample', [SHOUT]), code })
export const execute = (body: string, more = ''): string =>
  `export default { ${more} tools: { shout: { async execute({ text }, runtime) { ${body} } } } }\n`
export const deep = (depth: number): JsonObject => depth === 0 ? WORD
  : { type: 'object', description: 'One level.', properties: { next: deep(depth - 1) }, additionalProperties: false }
