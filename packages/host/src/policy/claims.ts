import { resolve } from 'node:path'
import type { CallNeed, RuleCapability } from '@bulkhead/contract'
import type { HostContext, ValidatedCall } from './call.ts'
import type { CallAnalysis, NamedPath } from './model/checked-call.ts'
import { withReal } from './touches.ts'

/** How many values of one argument are read. */
const MOST_VALUES = 1_000

/**
 * The analysis of a call with the paths, hosts and commands that the manifest says its arguments name. That is a claim:
 * it adds to what the call touches, and leaves nothing out.
 */
export function withClaims(analysis: CallAnalysis, call: ValidatedCall, { realPath }: HostContext): CallAnalysis {
  const { tool: { claims }, session: { paths: { workspace } } } = call
  if (claims.length === 0) return analysis
  const found = claims
    .flatMap(([argument, capability]) => valuesOf(call, argument).map((value) => ({ capability, value })))
  const of = (...wanted: RuleCapability[]) => found.filter(({ capability }) => wanted.includes(capability))
  const files = of('fs.read', 'fs.write')
    .map(({ capability, value }) => ({ capability, path: resolve(workspace, value) }))
  const hosts = of('net.fetch').map(({ value }) => hostOf(value))
  const commands = of('shell.run').map(({ value }) => value)
  let named: readonly NamedPath[] | undefined
  const needs = [
    ...files.map(({ capability, path }): CallNeed => ({ kind: capability as 'fs.read', subject: path })),
    ...hosts.map((subject): CallNeed => ({ kind: 'net', subject })),
  ]
  return {
    ...analysis,
    named: () => (named ??= [
      ...analysis.named?.() ?? [],
      ...files.map((file): NamedPath => ({ ...withReal({ ...file, below: false }, realPath), isClaim: true })),
    ]),
    commands: [...analysis.commands ?? [], ...commands],
    needs: [...analysis.needs ?? [], ...needs],
    touches: [...analysis.touches, ...[
      ...files.map(({ capability, path }) => `${capability === 'fs.read' ? 'read' : 'write'} ${path}`),
      ...hosts.map((host) => `reach ${host}`), ...commands.map((command) => `run ${command}`),
    ].map((line) => `${line}, as its manifest says`)],
  }
}

function valuesOf({ args }: ValidatedCall, argument: string): readonly string[] {
  const value = Object.hasOwn(args, argument) ? args[argument] : undefined
  return [value].flat().slice(0, MOST_VALUES).filter((one) => typeof one === 'string' && one !== '') as readonly string[]
}

/** Of a URL, or the text itself. */
function hostOf(value: string): string {
  const { hostname, host, port } = URL.parse(value) ?? { hostname: '', host: '', port: '' }
  if (hostname === '') return value.toLowerCase()
  return port === '' ? hostname : host
}
