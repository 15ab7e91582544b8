import type { RequirementSet } from '@bulkhead/contract'
import type { AnyRuntime, ToolDeclaration } from '@bulkhead/contract/author'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { NamedTool } from '../facade/foreign-tools.ts'

/** Everything that `defineTool` takes, except the name. */
export interface FakeToolDefinition
  extends Omit<ToolDeclaration<unknown, RequirementSet, never, never>, 'name' | 'execute'> {
  execute(args: JsonObject, runtime: AnyRuntime): unknown
}

/** A result, a function that makes it, or a definition with `execute`. */
export type FakeTool = Json | FakeToolDefinition['execute'] | FakeToolDefinition

/** A tool that takes any object and needs no approval, unless its definition says otherwise. */
export function fakeTool(name: string, fake: FakeTool): NamedTool {
  const definition: FakeToolDefinition = isDefinition(fake) ? fake : {
    execute: typeof fake === 'function' ? fake : () => fake,
  }
  return {
    description: `A fake of ${name}.`, input: { type: 'object' }, mode: 'read', gated: false, ...definition, name,
  } as NamedTool
}

const isDefinition = (fake: FakeTool): fake is FakeToolDefinition =>
  typeof fake === 'object' && fake !== null && 'execute' in fake && typeof fake.execute === 'function'
