import { visibleText } from '@bulkhead/kit/text'
import type { Approval, DamagedApproval } from '@bulkhead/host'
import { table } from './table.ts'

/** `projects`: say of which project each is. */
export function approvalTable(approvals: readonly Approval[], projects: boolean): string {
  if (approvals.length === 0) return 'Nothing is approved.\n'
  const headings = ['ID', 'STATUS', 'TOOL', 'EXTENSION', 'GIVEN', 'BY', 'EXPIRES', 'USES', 'LAST USED', ...(projects ? ['PROJECT'] : []), 'KEY']
  return table(headings, approvals.map((approval) => {
    const { id, status, tool, origin, callers = [], grantedAt, grantedBy, expiresAt, uses, lastUsedAt, workspace, approvalKey } = approval
    return [
      id, status, [tool, ...callers.map((caller) => caller.tool).toReversed()].join(' called by '), `${origin.layer} ${origin.extension}@${origin.version}`, minute(grantedAt), grantedBy, minute(expiresAt),
      String(uses), minute(lastUsedAt), ...(projects ? [workspace] : []), approvalKey,
    ]
  }))
}

export function approvalDetails(approval: Approval): string {
  const { ended, origin, digests } = approval
  const lines: readonly (readonly [string, string])[] = [
    ['id', approval.id],
    ['status', ended === null ? approval.status : `${ended.how} at ${ended.at}${ended.by === undefined ? '' : ` by ${ended.by}`}`],
    ['tool', approval.tool],
    ['key', approval.approvalKey],
    ['project', approval.workspace],
    ['given', `${approval.grantedAt} by ${approval.grantedBy}, in session ${approval.sessionId}`],
    ['expires', approval.expiresAt ?? 'with its session'],
    ['used', approval.lastUsedAt === null ? 'never' : `${approval.uses} times, last at ${approval.lastUsedAt}`],
    ['bound to', `${origin.layer} extension ${origin.extension} ${origin.version}`],
    ['  package', digests.package],
    ['  definition', digests.tool],
    ['  powers', digests.capability],
    ...(approval.callers ?? []).map(({ tool, layer, extension }): readonly [string, string] => ['called by', `${tool} of the ${layer} extension ${extension}`]),
  ]
  return lines.map(([label, text]) => `${label.padEnd(12)}  ${visibleText(text)}\n`).join('')
}

export const damageText = ({ id, damage }: DamagedApproval): string => `The approval ${id} is damaged and answers nothing: it ${damage}.`

const minute = (at: string | null): string => at === null ? '-' : `${at.slice(0, 16).replace('T', ' ')}Z`
