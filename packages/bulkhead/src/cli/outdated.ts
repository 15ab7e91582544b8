import { BulkheadError, type LockEntry } from '@bulkhead/contract'
import type { Installer, NewerVersion } from '@bulkhead/loader'
import { faultJson, faultText, printJson, table } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions } from './host-options.ts'
import { INSTALLER_DETAILS, INSTALLER_OPTIONS, openInstaller } from './installer-options.ts'

export const outdated: Command = {
  usage: 'bulkhead outdated [--project] [--registry URL] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `${INSTALLER_DETAILS}
${COMMON_DETAILS}

Exit code: 0 if nothing is outdated, 1 if something is or could not be checked, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, ...INSTALLER_OPTIONS })
    if (positionals.length > 0) throw new UsageError(`Unexpected argument "${positionals.join(' ')}" after "outdated".`)
    const { installer } = await openInstaller(values)
    const accepted = [...installer.accepted()]
    const { newer, unknown } = await newerVersions(installer, accepted)
    if (values.json) printJson({ outdated: newer, unknown: unknown.map(({ id, fault }) => ({ id, error: faultJson(fault) })) })
    else if (newer.length > 0) process.stdout.write(table(['ID', 'PACKAGE', 'CURRENT', 'LATEST'], newer.map(({ id, name, current, latest }) => [id, name, current, latest])))
    else if (unknown.length === 0) process.stdout.write(accepted.length === 0 ? 'Nothing is installed.\n' : 'Everything that came from a registry is up to date.\n')
    if (!values.json) process.stderr.write(unknown.map(({ fault }) => faultText(fault)).join(''))
    return newer.length + unknown.length > 0 ? 1 : 0
  },
}

interface NewerVersions {
  readonly newer: readonly NewerVersion[]
  /** Extensions that could not be checked. */
  readonly unknown: readonly { readonly id: string; readonly fault: BulkheadError }[]
}

/** Rejects if none of the extensions could be checked. */
export async function newerVersions(installer: Installer, accepted: readonly (readonly [string, LockEntry])[]): Promise<NewerVersions> {
  const asked = await Promise.allSettled(accepted.map(([id, entry]) => installer.newest(id, entry)))
  const answers = asked.flatMap((answer) => answer.status === 'fulfilled' && answer.value !== null ? [answer.value] : [])
  const unknown = asked.flatMap((answer, index) => answer.status === 'rejected' ? [{ id: accepted[index]![0], fault: BulkheadError.from(answer.reason) }] : [])
  if (unknown.length > 0 && answers.length === 0) throw unknown[0]!.fault
  return { newer: answers.filter(({ isNewer }) => isNewer), unknown }
}
