import type { ToolDefinition } from '@bulkhead/contract'
import { providerNames } from './names.ts'
import type { ModelProfile } from './profiles.ts'
import { projectTool, type Loss, type Projection } from './project.ts'

/** A tool as a provider gets it. */
export interface ProviderTool extends Projection {
  readonly tool: ToolDefinition
  /** The name for the provider. */
  readonly name: string
}

/** What the projection of a tool's schema cost. */
export interface ToolReport {
  readonly tool: string
  /** The name for the provider. */
  readonly name: string
  readonly strict: boolean
  /** Why the tool is not strict. */
  readonly reason?: string
  readonly losses: readonly Loss[]
}

export function providerTools(
  tools: readonly ToolDefinition[], profile: ModelProfile, strict: boolean,
): readonly ProviderTool[] {
  const names = providerNames(tools, profile)
  return tools.map((tool) => ({ ...projectTool(tool, profile, strict), tool, name: names.of(tool.name) }))
}

export const toolReports = (
  tools: readonly ToolDefinition[], profile: ModelProfile, strict: boolean,
): readonly ToolReport[] =>
  providerTools(tools, profile, strict).map(({ schema: _, tool, ...report }) => ({ ...report, tool: tool.name }))
