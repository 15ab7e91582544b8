import type { PromptSource, ResourceContents, ResourceSource } from '@bulkhead/bridges/mcp'
import type { Content } from '../../src/index.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const TEMPLATE = 'test://template/{id}/data'

const RESOURCES: readonly ResourceContents[] = [
  { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: PIXEL },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watched resource content.' },
]

/** The resources that the suite reads by name. */
export const resources: ResourceSource = {
  list: async () =>
    RESOURCES.map(({ uri, mimeType }) => ({
      uri, name: uri, description: `The resource ${uri}.`, ...(mimeType !== undefined && { mimeType }),
    })),
  templates: async () => [
    { uriTemplate: TEMPLATE, name: 'data', description: 'Data by id.', mimeType: 'application/json' },
  ],
  async read(uri) {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id === undefined) return RESOURCES.find((one) => one.uri === uri)
    return {
      uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }
  },
}

const text = (words: string): Content => ({ type: 'text', text: words })
const required = (...names: readonly string[]) =>
  names.map((name) => ({ name, description: `The argument ${name}.`, required: true }))
type Fixture = readonly [
  args: ReturnType<typeof required>, messages: (args: ReadonlyMap<string, string>) => readonly Content[],
]
const PROMPTS: ReadonlyMap<string, Fixture> = new Map<string, Fixture>([
  ['test_simple_prompt', [[], () => [text('This is a simple prompt for testing.')]]],
  [
    'test_prompt_with_arguments',
    [
      required('arg1', 'arg2'),
      (args) => [text(`Prompt with arguments: arg1='${args.get('arg1')}', arg2='${args.get('arg2')}'`)],
    ],
  ],
  [
    'test_prompt_with_embedded_resource',
    [
      required('resourceUri'),
      (args) => [
        {
          type: 'resource', uri: args.get('resourceUri')!, mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
        text('Please process the embedded resource above.'),
      ],
    ],
  ],
  [
    'test_prompt_with_image',
    [[], () => [{ type: 'image', data: PIXEL, mimeType: 'image/png' }, text('Please analyze the image above.')]],
  ],
  [
    'test_input_required_result_prompt',
    [required('context'), (args) => [text(`Use this context: ${args.get('context')}`)]],
  ],
])

const watching = new Set<() => void>()
let isLate = false

/** Adds a prompt, or removes it again. */
export function changePrompts(): void {
  isLate = !isLate
  for (const changed of watching) changed()
}

/** The prompts that the suite gets by name. */
export const prompts: PromptSource = {
  list: async () => [
    ...[...PROMPTS].map(([name, [args]]) => ({ name, description: `The prompt ${name}.`, arguments: args })),
    ...(isLate ? [{ name: 'late', description: 'A prompt that was added later.' }] : []),
  ],
  get: async (name, args) => ({ messages: PROMPTS.get(name)![1](args).map((content) => ({ role: 'user', content })) }),
  watch(changed) {
    watching.add(changed)
    return () => watching.delete(changed)
  },
  complete: async (_name, argument) => argument === 'arg1' ? ['paris', 'park', 'party'] : [],
}
