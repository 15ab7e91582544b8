import { expect, it } from 'vitest'
import { z } from 'zod'
import { declaredManifest, defineExtension, defineTool, type ExtensionModule } from '../src/author/index.ts'

const lookUp = defineTool({
  description: 'Looks up a word.', approvalKey: '{word}', mode: 'external',
  input: z.strictObject({ word: z.string().min(1).describe('The word.'), limit: z.int().min(1).max(9).default(3) }),
  output: z.object({ meanings: z.array(z.string()) }),
  requires: { net: { hosts: ['words.example'] } },
  env: ['WORDS_LANGUAGE'], secrets: [{ name: 'WORDS_KEY', hosts: ['words.example'] }],
  execute: ({ word, limit }) => ({ meanings: [`${word} ${limit}`] }),
  deriveApprovalKey: ({ word, limit }) => `${word} ${limit}`,
})

it('writes what the code declares, with schemas of a library as JSON Schema', () => {
  const extension = defineExtension({
    env: ['WORDS_LANGUAGE', 'WORDS_REGION'], configSchema: z.strictObject({ quick: z.boolean().optional() }),
    stateSlot: { slotVersion: '1', schema: z.int() }, tools: { look_up: lookUp, now: { execute: () => 1 } },
  })
  expect(declaredManifest(extension)).toEqual({
    configSchema: { type: 'object', properties: { quick: { type: 'boolean' } }, additionalProperties: false },
    stateSlot: { slotVersion: '1', schema: expect.objectContaining({ type: 'integer' }) },
    env: ['WORDS_LANGUAGE', 'WORDS_REGION'], secrets: [{ name: 'WORDS_KEY', hosts: ['words.example'] }],
    tools: [
      {
        name: 'look_up', description: 'Looks up a word.', approvalKey: '{word}', mode: 'external',
        requires: { net: { hosts: ['words.example'] } },
        inputSchema: {
          type: 'object', required: ['word'], additionalProperties: false,
          properties: {
            word: { type: 'string', minLength: 1, description: 'The word.' },
            limit: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
          },
        },
        outputSchema: expect.objectContaining({ required: ['meanings'] }),
      },
      { name: 'now', inputSchema: { type: 'object', properties: {}, additionalProperties: false } },
    ],
  })
})

it('names a schema that cannot be written', () => {
  const input = { '~standard': { version: 1, vendor: 'other', validate: (value: unknown) => ({ value }) } }
  const extension: ExtensionModule = { tools: { look_up: { input, execute: () => 1 } } }
  expect(() => declaredManifest(extension)).toThrow(/^The input of look_up cannot be written as JSON Schema\. Use zod/)
})

it('a tool with a schema of a library gets parsed arguments', async () => {
  const given = { word: 'sea' } as { word: string; limit: number }
  expect(await lookUp.execute(given, {})).toEqual({ meanings: ['sea 3'] })
  expect(await lookUp.deriveApprovalKey!(given)).toBe('sea 3')
  await expect(lookUp.execute({ word: '', limit: 3 }, {}))
    .rejects.toMatchObject({ code: 'InputInvalid', message: expect.stringMatching(/^\/word: /) })
})

it('takes the name of a tool from its key, and refuses another one', () => {
  const named = (name: string) => declaredManifest({ tools: { look_up: { ...lookUp, name } } } as ExtensionModule)
  expect(named('look_up')).toMatchObject({ tools: [{ name: 'look_up' }] })
  expect(() => named('search')).toThrow(
    'The tool "look_up" is also named "search". Remove its name, or make them equal.',
  )
})
