import { BulkheadError, mayReach } from '@bulkhead/contract'
import { READ_BY_COMMANDS } from '@bulkhead/kit/programs'
import type { OpenCall } from '../model/capability.ts'
import { requireUse } from '../model/ruled-use.ts'
import type { Walled } from './starter.ts'

/**
 * Rules about commands, before they start. What a command will read, write and reach is not known, so a rule that asks
 * about something within its reach asks now. What rules deny is hidden by the wall. Rejects with RuleDenied or
 * ApprovalDenied.
 */
export async function requireCommands(
  { uses, tool: { grant } }: OpenCall, lines: readonly string[], workspace: string, walled: Walled,
): Promise<void> {
  if (uses === undefined) return
  for (const line of lines) await requireUse(uses, 'shell.run', line)
  const folders = { roots: [workspace, ...grant.fs.commandRoots ?? []], system: READ_BY_COMMANDS }
  for (const { verdict, ...use } of uses.asked) if (mayReach(use, walled, folders)) await uses.ask(use, verdict)
  requireNetwork(uses.deniesHosts, walled)
}

/** Throws RuleDenied if a command would have the whole network although a rule denies hosts. `rule`: one that does. */
export function requireNetwork(rule: string | undefined, { wall, hosts }: Walled): void {
  if (rule === undefined || (wall !== 'open' && hosts !== 'all')) return
  const message = `The command was not run: ${rule} denies hosts, and the command would have the whole network. `
    + 'Name the hosts that it needs, or change the rule.'
  throw new BulkheadError('RuleDenied', message, { data: { stage: 'rules', source: rule } })
}
