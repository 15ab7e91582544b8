import type { JsonObject } from '@bulkhead/kit/json'
import type { AuditChainReader } from '../../src/audit/index.ts'

/** A chain with these records. Those before a `link` are covered by it. */
export function chainOf(records: readonly JsonObject[], name = ''): AuditChainReader & { readonly reads: number[] } {
  const reads: number[] = []
  return {
    name, reads,
    auditSpan: async () => ({ first: Math.min(1, records.length), before: 'start', last: records.length, link: 'end' }),
    records: async (from = 1, limit = Infinity) => {
      reads.push(from)
      return records.slice(from - 1, from - 1 + limit).map(({ link, ...record }, index) =>
        ({ position: from + index, record, link: typeof link === 'string' ? link : null }))
    },
  }
}

const ORIGIN = { layer: 'bundled', extension: 'bash', version: '1.0.0', digest: 'd1' }

/** `seconds`: after midnight. */
export const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString()

const of = (callId: string, seconds: number): JsonObject =>
  ({ at: at(seconds), sessionId: 'aaaa-1', callId, tool: 'bash', origin: ORIGIN })

export const decided = (callId: string, seconds: number, more: JsonObject = {}): JsonObject => ({
  type: 'ToolInvocationDecided', ...of(callId, seconds), decision: 'allow', stage: 'rules',
  source: 'the rule "bash git *"',
  reason: 'it is allowed', approvalKey: `git ${callId}`, argsSha256: 'f00', ...more,
})
export const succeeded = (callId: string, seconds: number, more: JsonObject = {}): JsonObject =>
  ({ type: 'ToolInvocationSucceeded', ...of(callId, seconds), durationMs: 1_000, ...more })
export const failed = (callId: string, seconds: number, more: JsonObject = {}): JsonObject => ({
  type: 'ToolInvocationFailed', ...of(callId, seconds), durationMs: 1_000, errorClass: 'ToolTerminal',
  errorCode: 'NotFound', message: 'There is no such file.', ...more,
})
export const cancelled = (callId: string, seconds: number, more: JsonObject = {}): JsonObject => ({
  type: 'ToolInvocationCancelled', ...of(callId, seconds), durationMs: 10, attempt: 0, errorCode: 'RuleDenied',
  reason: 'The call was refused.', ...more,
})
/** A record that is about no call. */
export const other = (seconds: number): JsonObject =>
  ({ type: 'LifecycleStateChanged', at: at(seconds), extensionId: 'weather', from: 'loaded', to: 'active' })
