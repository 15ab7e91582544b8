import { defineTool } from '@bulkhead/contract'

export const tool = defineTool({
  label: 'Plan',
  description: 'Stores the to-do list of this session and returns it. Pass the complete list each time, with at most '
    + 'one item in progress.',
  input: {
    type: 'object',
    properties: {
      todos: {
        type: 'array',
        maxItems: 500,
        description: 'The complete list. It replaces the previous one.',
        items: {
          type: 'object',
          properties: {
            content: { type: 'string', minLength: 1, maxLength: 1000, description: 'The task.' },
            status: {
              enum: ['pending', 'in_progress', 'completed', 'cancelled'],
              description: 'The progress of the task.',
            },
            id: { type: 'string', minLength: 1, maxLength: 64, description: 'A stable identifier.' },
            priority: { enum: ['high', 'medium', 'low'], description: 'The priority of the task.' },
          },
          required: ['content', 'status'],
          additionalProperties: false,
        },
      },
    },
    required: ['todos'],
    additionalProperties: false,
  },
  requires: { capabilities: ['session'] },
  gated: false,
  mode: 'safe_write',
  kind: 'other',
  idempotent: true,
  async execute({ todos }, { session }) {
    await session.write([...todos])
    return { todos: await session.read() }
  },
  deriveApprovalKey: () => 'todo',
})
