import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { Refusal, type ReceivedCall, type ResolvedCall } from '../policy/call.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'

/** Exists? Enabled? From here on the call means this tool of this origin, whatever is registered later. */
export function resolve(call: ReceivedCall): ResolvedCall | Refusal {
  const { tools } = call.scope
  const off = tools.switchedOff(call.name)
  if (off) return new Refusal(new BulkheadError('ToolsDisabled', off, { data: { tool: call.name } }))
  const tool = tools.get(call.name)
  return tool ? call.bind(tool) : unknownTool(call.name, tools)
}

function unknownTool(name: string, tools: OfferedTools): Refusal {
  const close = tools.closeNames(name)
  const hint = close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(' or ')}?`
  const shown = visibleText(name.length > 64 ? `${name.slice(0, 64)}…` : name)
  return new Refusal(new BulkheadError('ToolNotRegistered', `There is no tool "${shown}".${hint}`, { data: { close } }))
}
