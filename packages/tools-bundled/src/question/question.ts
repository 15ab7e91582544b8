import { BulkheadError, defineExtension, ToolError, type FromJsonSchema, type Interact, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    questions: {
      type: 'array',
      minItems: 1,
      maxItems: 10,
      description: 'What to ask, one after the other.',
      items: {
        type: 'object',
        properties: {
          question: { type: 'string', minLength: 1, maxLength: 4000, description: 'The question.' },
          header: { type: 'string', minLength: 1, maxLength: 80, description: 'What it is about, in a word or two.' },
          options: {
            type: 'array',
            minItems: 1,
            maxItems: 20,
            description: 'What can be answered; anything when there are none.',
            items: {
              type: 'object',
              properties: {
                label: { type: 'string', minLength: 1, maxLength: 200, description: 'The answer.' },
                description: { type: 'string', maxLength: 1000, description: 'What it would mean.' },
              },
              required: ['label'],
              additionalProperties: false,
            },
          },
          multi_select: { type: 'boolean', description: 'Whether several options can be chosen.' },
        },
        required: ['question'],
        additionalProperties: false,
      },
    },
  },
  required: ['questions'],
  additionalProperties: false,
} as const

const manifest = {
  ...BUNDLED,
  id: 'question',
  tools: [{
    name: 'question',
    label: 'Ask',
    description: 'Asks the user, and waits for the answers: one list for each question, in their order. Ask only what decides how to go on and cannot be found out.',
    inputSchema: INPUT_SCHEMA,
    requires: { capabilities: ['interact'] },
    gated: false,
    mode: 'read',
    kind: 'other',
  }],
} satisfies ManifestInput

/** The answer for the model if there is no person to ask. Fixed, so that callers can rely on it. */
export const NOBODY_THERE = 'No person can be asked here. Continue with your best guess, and say what you assumed.'

type Question = FromJsonSchema<typeof INPUT_SCHEMA>['questions'][number]

export const question = {
  manifest,
  module: defineExtension({
    tools: {
      question: {
        input: INPUT_SCHEMA,
        requires: { capabilities: ['interact'] },
        async execute({ questions }, { interact }) {
          const answers: (readonly string[])[] = []
          for (const one of questions) answers.push(await ask(one, interact).catch(explain))
          return { answers }
        },
        deriveApprovalKey: () => 'interactive',
      },
    },
  }),
}

async function ask(asked: Question, interact: Interact): Promise<readonly string[]> {
  const { question: text, header, options, multi_select: several = false } = asked
  const prompt = header === undefined ? text : `${header}: ${text}`
  if (options === undefined) return [await interact.ask(prompt)]
  if (new Set(options.map(({ label }) => label)).size < options.length) {
    throw new ToolError('InputInvalid', `Two options of "${text}" have one label. Give each its own.`)
  }
  return several ? interact.selectMany(prompt, options) : [await interact.select(prompt, options)]
}

function explain(error: unknown): never {
  if ((error as { readonly code?: unknown }).code !== 'InteractionUnavailable') throw error
  throw new BulkheadError('InteractionUnavailable', NOBODY_THERE)
}
