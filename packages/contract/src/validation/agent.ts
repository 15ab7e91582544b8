import { z } from 'zod'
import { AGENT_NAME_PATTERN } from '../model/names.ts'
import { budgetLimits, ruleSchema } from './policy.ts'
import { powerSet } from './requirements.ts'

const root = z.string().min(1).max(4096).regex(/^[^\0]+$/, 'a path')

/** What a session is opened for: `defineAgent`, or agents/NAME.json in the folder of a layer. */
export const agentManifestSchema = z.strictObject({
  $schema: z.string().optional().describe('The JSON Schema of this file, for editors.'),
  name: z.string().regex(AGENT_NAME_PATTERN, 'a letter or digit, then up to 63 letters, digits, _, . or -')
    .describe('The name of the agent. A file has the same name, followed by .json.'),
  description: z.string().min(1).max(1024).optional()
    .describe('What the agent does, in a sentence. The model that delegates reads it in the schema of `task`.'),
  prompt: z.string().min(1).max(100_000).optional()
    .describe('The system prompt of the agent. The embedder sends it to the model; the host does not read it.'),
  model: z.string().min(1).max(256).optional()
    .describe('The model of the agent. The embedder chooses it; the host does not read it.'),
  modelSettings: z.record(z.string().min(1).max(128), z.json()).optional()
    .describe('Settings of the model, such as temperature. The embedder applies them; the host does not read them.'),
  thinkingLevel: z.enum(['off', 'minimal', 'low', 'medium', 'high']).optional()
    .describe('How much the model thinks. The embedder applies it; the host does not read it.'),
  strategy: z.union([z.enum(['sequential', 'parallel']), z.strictObject({ batched: z.int().positive().describe('Calls at once.') })])
    .optional().describe('How `callAll` runs the calls of one response of its session. Default: parallel.'),
  tools: z.array(z.string().min(1).max(128)).max(256).optional()
    .describe(
      'The tools that its session is offered: names, aliases, first parts of names, and patterns with *. Default: all.',
    ),
  ceiling: powerSet.optional()
    .describe(
      'The most that a call of its session may use. A call gets what its tool requires, as far as it is within the '
      + 'ceiling. Default: what its tools require.',
    ),
  requires: powerSet.optional()
    .describe(
      'What the agent needs besides its tools. It is part of the surface of the session, and gives no tool more. '
      + 'Without `ceiling`, it is the ceiling.',
    ),
  rules: z.array(ruleSchema).max(256).default([])
    .describe('Permission rules of its session. No other rule overrides one that denies.'),
  roots: z.array(root).max(16).default([])
    .describe(
      'Further folders that {workspace} stands for: absolute, or relative to the workspace. An agent of a project '
      + 'names folders inside the project only.',
    ),
  budget: budgetLimits.optional().describe('The budget of its session.'),
})

/** An agent after validation, with defaults. */
export type AgentManifest = z.output<typeof agentManifestSchema>
/** An agent as its author writes it. */
export type AgentInput = z.input<typeof agentManifestSchema>
