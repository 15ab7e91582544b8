import type { Freeze, FreezeReport, Store, Work } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { accountName } from '../../facade/folders.ts'
import type { Command, CommandOptions } from '../command.ts'
import { RECORDS_OPTIONS, withNewStore, withStore } from '../host-options.ts'
import { hint, printJson } from '../output.ts'

/** The hosts on a store, for commands that do not join them. */
export function workOf({ work }: Store): Work {
  if (work) return work
  throw new BulkheadError('StoreUnavailable', 'This store does not know its hosts.')
}

const FREEZE_OPTIONS = {
  reason: { type: 'string', value: 'TEXT', text: 'why, for the error of each call and for `bulkhead ps`' },
  cancel: { type: 'boolean', text: 'cancel running calls, too' },
  ...RECORDS_OPTIONS,
} as const satisfies CommandOptions

export const freeze: Command<typeof FREEZE_OPTIONS> = {
  options: FREEZE_OPTIONS,
  details: `No host on the store starts a call until you thaw: no nested call, no further attempt, and no call that waited. They
end with HostFrozen. Running calls go on, unless you cancel them. A host that does not confirm within some seconds is
named. It starts nothing either, but may have been about to. Hosts without a store are not reached.`,
  exits: ['if every host has confirmed', 'if a host has not, or the store cannot be written'],
  examples: [
    { command: 'bulkhead freeze --reason "wrong customer"', text: 'let nothing more begin' },
    { command: 'bulkhead freeze --cancel', text: 'stop what runs, too' },
  ],
  // Also where no call was made yet: the first one must find the freeze.
  run: ({ values: { json, reason, cancel = false, ...place } }) => withNewStore(place, async (store) => {
    const by = `${accountName()} with bulkhead freeze`
    const report = await workOf(store).freeze({ by, ...(reason !== undefined && { reason }), ...(cancel && { cancel }) })
    const isConfirmed = report.unconfirmed.length === 0
    if (json) printJson({ confirmed: isConfirmed, ...report })
    else tell(report)
    return isConfirmed ? 0 : 1
  }),
}

export const thaw: Command<typeof RECORDS_OPTIONS> = {
  options: RECORDS_OPTIONS,
  exits: ['on success, also if nothing was frozen', 'if the store cannot be written'],
  examples: [{ command: 'bulkhead thaw', text: 'let calls start again' }],
  run: ({ values: { json, ...place } }) => withStore(place, 'store', async (store) => {
    const thawed = await workOf(store).thaw()
    if (json) printJson({ thawed: thawed ?? null })
    else process.stdout.write(thawed ? `Thawed. ${frozenText(thawed)}\n` : 'Nothing was frozen.\n')
    return 0
  }),
}

/** Who froze the hosts, when and why. */
export const frozenText = ({ by, since, reason, cancel }: Freeze): string => visibleText(
  `Frozen since ${new Date(since).toISOString()} by ${by}${reason === undefined ? '' : `: ${reason}`}`
    + `${cancel ? ' (running calls were cancelled)' : ''}.`)

function tell({ freeze: order, unconfirmed }: FreezeReport): void {
  process.stdout.write(`${frozenText(order)} ${unconfirmed.length === 0 ? 'Every host has confirmed it.' : ''}\n`)
  for (const { pid, machine, version, state } of unconfirmed) {
    const what = version === '' ? 'an earlier version, which does not look for a freeze: end it' : state
    process.stderr.write(visibleText(`Not confirmed by process ${pid}${machine === '' ? '' : ` on ${machine}`} (${what}).`) + '\n')
  }
  process.stderr.write(hint('To let calls start again: bulkhead thaw\n'))
}
