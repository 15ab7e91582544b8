import type { LockEntry } from '@bulkhead/contract'
import type { Installer, NewerVersion } from '@bulkhead/loader'
import { printJson } from './answer.ts'
import type { Command } from './command.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions } from './host-options.ts'
import { INSTALLER_DETAILS, INSTALLER_OPTIONS, openInstaller } from './installer-options.ts'
import { table } from './table.ts'
import { UsageError } from './usage-error.ts'

export const outdated: Command = {
  usage: 'bulkhead outdated [--project] [--registry URL] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `${INSTALLER_DETAILS}
${COMMON_DETAILS}

Exit code: 0 when nothing is outdated, 1 when something is, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, ...INSTALLER_OPTIONS })
    if (positionals.length > 0) throw new UsageError(`"outdated" takes no further words, but got "${positionals.join(' ')}".`)
    const { installer } = await openInstaller(values)
    const accepted = [...installer.accepted()]
    const newer = await newerVersions(installer, accepted)
    if (values.json) printJson({ outdated: newer })
    else if (newer.length > 0) process.stdout.write(table(['ID', 'PACKAGE', 'CURRENT', 'LATEST'], newer.map(({ id, name, current, latest }) => [id, name, current, latest])))
    else process.stdout.write(accepted.length === 0 ? 'Nothing is installed.\n' : 'Everything that came from a registry is up to date.\n')
    return newer.length > 0 ? 1 : 0
  },
}

/** Those of the given that a registry has a later version of. */
export async function newerVersions(installer: Installer, accepted: readonly (readonly [string, LockEntry])[]): Promise<readonly NewerVersion[]> {
  const newest = await Promise.all(accepted.map(([id, entry]) => installer.newest(id, entry)))
  return newest.filter((found) => found !== null && found.isNewer) as readonly NewerVersion[]
}
