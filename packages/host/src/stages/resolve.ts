import { BulkheadError, visibleText } from '@bulkhead/contract'
import { Refusal, type RawCall, type ResolvedCall } from '../call.ts'
import type { RegistryView } from '../registry-view.ts'

/** What is asked of the registry, or of how it was when a turn began. */
type Names = Pick<RegistryView, 'get' | 'switchedOff' | 'closeNames'>

/** Exists? Enabled? From here on the call means this tool of this origin, whatever is registered later. */
export function resolve(call: RawCall, registry: Names): ResolvedCall | Refusal {
  const off = registry.switchedOff(call.name)
  if (off) return new Refusal(new BulkheadError('ToolsDisabled', off, { data: { tool: call.name } }))
  const tool = registry.get(call.name)
  if (!tool) return unknownTool(call.name, registry)
  call.progress.tool = tool
  call.progress.release = tool.extension.holds.take()
  return { ...call, tool }
}

function unknownTool(name: string, registry: Names): Refusal {
  const close = registry.closeNames(name)
  const hint = close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(' or ')}?`
  const shown = visibleText(name.length > 64 ? `${name.slice(0, 64)}…` : name)
  return new Refusal(new BulkheadError('ToolNotRegistered', `There is no tool "${shown}".${hint}`, { data: { close } }))
}
