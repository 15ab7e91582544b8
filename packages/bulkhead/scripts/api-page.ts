import { join } from 'node:path'
import { basesOf, declarationOf, exportedNames } from './declarations.ts'

const LIBRARY = join(import.meta.dirname, '../src/facade/library.ts')

const INTRODUCTION = `# API

Every name that \`bulkhead\` exports, generated from the source. Start with the [embedding guide](../guides/embedding.md). For tests there is
[\`bulkhead/test\`](../guides/testing.md). Separate packages:
\`@bulkhead/bridges\` for model APIs, MCP and OpenTelemetry; \`@bulkhead/contract/author\` for extensions; \`createLoader\` of \`@bulkhead/loader\` for
a loader of your own, whose result \`host.register\` takes.
`

/** Contract: every exported name is in exactly one section; `apiPage` throws otherwise. */
const SECTIONS: readonly (readonly [title: string, guide: string, names: string])[] = [
  ['Host', 'See [embedding](../guides/embedding.md) and [lifecycle](../guides/lifecycle.md).',
    'createHost CreateHostOptions TenantOptions ProfileName Host defineTool NamedTool Registrable ForeignTool GridaToolContract StudToolContract CloseReport SwitchReport Diagnostic ToolListing ExtensionDescriptor ExtensionStatus ToolMetrics HistogramSnapshot LoopLag ConfigFile ProjectTrust CORE_VERSION'],
  ['Reload', 'See [reload](../guides/lifecycle.md#reload).', 'ReloadRequest ReloadReport ReloadChange SmokeCheck Trial'],
  ['Prompts', 'See [prompts](../guides/prompts.md).', 'PromptSections PromptSection PromptSectionId OmittedPrompt PromptSectionsOptions'],
  ['Sessions', 'See [sessions](../guides/sessions.md).',
    'SessionOptions ResumeOptions Session Turn SubagentOptions SecurityMode Rule BudgetLimits ExecutionStrategy Steering CancelReason'],
  ['Calls and outcomes', 'Codes are in the [error reference](errors.md).',
    'ToolDefinition ToolCall CallOptions CallProgress CallLog CallAllOptions Outcome OutputOutcome ErrorOutcome OutcomeMetadata Completion Content EmbeddedResource ResourceLink Json JsonObject ErrorCode BulkheadError Explanation ExplainedStep Surface SurfaceItem'],
  ['Workflow engines', 'See [durable agents](../guides/durable-agents.md).', 'callAsStep StepCall StepError'],
  ['Events', 'Each event is listed in the [event reference](events.md).', 'BulkheadEvent EventType EventOf EventListener'],
  ['People', 'See [people](../guides/sessions.md#people).',
    'createTerminalInteractor TerminalStreams createProgrammaticInteractor ProgrammaticInteractor createHeadlessInteractor PermissionRequired Interactor InteractionEnvelope InteractionRequest ProjectTool InteractionResponse PausedCall InterruptedCall'],
  ['Approvals', 'See [approvals](../guides/approvals.md).',
    'Approver ApprovalRequest ApprovalAnswer Approval ApprovalBook ApprovalEnd ApprovalFilter ApprovalGrant ApprovalScope DamagedApproval'],
  ['Policy in code', 'See [policy in code](../guides/hooks.md).',
    'CallCheck CallCheckAnswer CallView Guard ResultCheck ResultAnswer Judge JudgeAnswer ResultJudge StateMachine MachineStage Hooks HookContext Observers createCommandClassifier CommandClassifier CommandClassification CommandSafetyPattern COMMAND_SAFETY_PATTERNS'],
  ['Editors', 'For `client` of `openSession`. See [ACP](../guides/acp.md).', 'WorkspaceClient ClientCall ClientCommand ClientRun'],
  ['Agents', 'See [agents](../guides/agents.md).', 'defineAgent AgentInput AgentManifest AgentDescriptor'],
  ['Hosts on one store', 'For `host.hosts`, `host.freeze` and `host.thaw`.', 'JoinedHost FreezeOrder Freeze FreezeReport'],
  ['Workers', 'For `extensions.*.runsOn` of the [configuration](configuration.md).',
    'createWorker CreateWorkerOptions RunningWorker EndedCall ListedWorker WorkerInfo'],
  ['Sub-agents', 'For `runAgent` of `createHost`.', 'AgentRunner AgentRequest AgentResult BackgroundTask EndedTask'],
  ['MCP', 'See [MCP](../guides/mcp.md).', 'McpBook ReplicaRecords McpServerStatus LoginOptions McpResource McpPrompt McpEmbedder McpRoot SamplingRequest SamplingResult openKitPrompts KitPrompts'],
  ['Inspector', 'See [the inspector](../guides/inspector.md).', 'createInspector InspectorOptions Inspector'],
  ['Recordings', 'For `host.recordings` and `host.replay`. See [record and replay](../guides/replay.md).',
    'RecordingBook RecordedSession Recording RecordedCall RecordedValue PurgeFilter ReplayOptions ReplayReport ReplayDifference ValueDifference'],
  ['Store', 'See [the audit](../guides/audit.md).', 'openSqliteStore SqliteStoreOptions Store'],
]

/** docs/reference/api.md: each exported name with its comment and its declaration. */
export function apiPage(): string {
  const listed = SECTIONS.flatMap(([, , names]) => names.split(' '))
  const exported = exportedNames(LIBRARY)
  const wrong = [...exported.filter((name) => !listed.includes(name)), ...listed.filter((name) => !exported.includes(name))]
  if (wrong.length > 0) throw new Error(`Put each exported name into one section of scripts/api-page.ts: ${wrong.join(', ')}.`)
  return INTRODUCTION + SECTIONS.map(([title, guide, names]) => `\n## ${title}\n\n${guide}\n${names.split(' ').map(entry).join('')}`).join('')
}

function entry(name: string): string {
  const declared = declarationOf(name, LIBRARY)
  const code = [declared.text, ...basesOf(declared, new Set(exportedNames(LIBRARY)))].join('\n\n')
  return `\n### ${name}\n\n${declared.comment === '' ? '' : `${declared.comment}\n\n`}\`\`\`typescript\n${code}\n\`\`\`\n`
}
