import { defineExtension, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    todos: {
      type: 'array',
      maxItems: 500,
      description: 'The whole list; it takes the place of the one before.',
      items: {
        type: 'object',
        properties: {
          content: { type: 'string', minLength: 1, maxLength: 1000, description: 'What is to be done.' },
          status: { enum: ['pending', 'in_progress', 'completed', 'cancelled'], description: 'How far it is.' },
          id: { type: 'string', minLength: 1, maxLength: 64, description: 'A name for it that stays.' },
          priority: { enum: ['high', 'medium', 'low'], description: 'How much it matters.' },
        },
        required: ['content', 'status'],
        additionalProperties: false,
      },
    },
  },
  required: ['todos'],
  additionalProperties: false,
} as const

const manifest = {
  ...BUNDLED,
  id: 'todo',
  tools: [{
    name: 'todo',
    label: 'Plan',
    description: 'Keeps the list of what is to be done in this session. Give the whole list each time, with one item in progress at most; it is returned as it is kept.',
    inputSchema: INPUT_SCHEMA,
    requires: { capabilities: ['session'] },
    gated: false,
    mode: 'safe_write',
    kind: 'other',
    idempotent: true,
  }],
} satisfies ManifestInput

export const todo = {
  manifest,
  module: defineExtension({
    tools: {
      todo: {
        input: INPUT_SCHEMA,
        requires: { capabilities: ['session'] },
        async execute({ todos }, { session }) {
          await session.write([...todos])
          return { todos: await session.read() }
        },
        deriveApprovalKey: () => 'todo',
      },
    },
  }),
}
