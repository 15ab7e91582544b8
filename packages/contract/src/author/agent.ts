import type { AgentInput } from '../validation/agent.ts'

/** Adds types and returns the same object. `openSession` and `createHost` check it. */
export function defineAgent<const Agent extends AgentInput>(agent: Agent): Agent {
  return agent
}
