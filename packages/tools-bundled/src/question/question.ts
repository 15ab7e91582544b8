import {
  BulkheadError, defineTool, ToolError, type FromJsonSchema, type Interact,
} from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    questions: {
      type: 'array',
      minItems: 1,
      maxItems: 10,
      description: 'The questions, asked one after another.',
      items: {
        type: 'object',
        properties: {
          question: { type: 'string', minLength: 1, maxLength: 4000, description: 'The question.' },
          header: { type: 'string', minLength: 1, maxLength: 80, description: 'The topic, in one or two words.' },
          options: {
            type: 'array',
            minItems: 1,
            maxItems: 20,
            description: 'Possible answers. Without options, the user can answer anything.',
            items: {
              type: 'object',
              properties: {
                label: { type: 'string', minLength: 1, maxLength: 200, description: 'The answer.' },
                description: { type: 'string', maxLength: 1000, description: 'What the answer means.' },
              },
              required: ['label'],
              additionalProperties: false,
            },
          },
          multi_select: { type: 'boolean', description: 'Allow several answers.' },
        },
        required: ['question'],
        additionalProperties: false,
      },
    },
  },
  required: ['questions'],
  additionalProperties: false,
} as const

/** The answer for the model if there is no person to ask. Fixed, so that callers can rely on it. */
export const NO_USER_MESSAGE = 'No person can be asked here. Continue with your best guess, and say what you assumed.'

type Question = FromJsonSchema<typeof INPUT_SCHEMA>['questions'][number]

export const tool = defineTool({
  label: 'Ask',
  description: 'Asks the user questions and waits for the answers. Returns a list of answers for each question, in '
    + 'order. Ask only if you need the answer to continue and cannot find it out yourself.',
  input: INPUT_SCHEMA,
  requires: { capabilities: ['interact'] },
  gated: false,
  mode: 'read',
  kind: 'other',
  async execute({ questions }, { interact }) {
    const answers: (readonly string[])[] = []
    for (const one of questions) answers.push(await ask(one, interact).catch(explain))
    return { answers }
  },
  deriveApprovalKey: () => 'interactive',
})

async function ask(asked: Question, interact: Interact): Promise<readonly string[]> {
  const { question: text, header, options, multi_select: several = false } = asked
  const prompt = header === undefined ? text : `${header}: ${text}`
  if (options === undefined) return [await interact.ask(prompt)]
  if (new Set(options.map(({ label }) => label)).size < options.length) {
    throw new ToolError('InputInvalid', `Two options of "${text}" have the same label. Use different labels.`)
  }
  return several ? interact.selectMany(prompt, options) : [await interact.select(prompt, options)]
}

function explain(error: unknown): never {
  if (errorCode(error) !== 'InteractionUnavailable') throw error
  throw new BulkheadError('InteractionUnavailable', NO_USER_MESSAGE)
}
