import { describe, expect, it } from 'vitest'
import { defineAgent } from '../src/author/agent.ts'
import { agentManifestSchema } from '../src/validation/agent.ts'
import { invalidAgents, validAgents } from './samples/agents.ts'

describe('an agent manifest', () => {
  it.each(validAgents)('may have %s', (_, value) => {
    expect(agentManifestSchema.safeParse(value).error).toBeUndefined()
  })

  it.each(invalidAgents)('may not have %s', (_, value) => {
    expect(agentManifestSchema.safeParse(value).success).toBe(false)
  })

  it('has no rules and no roots by default, and no bound', () => {
    expect(agentManifestSchema.parse(defineAgent({ name: 'reviewer' }))).toEqual({
      name: 'reviewer', rules: [], roots: [],
    })
  })
})
