import { printJson } from './answer.ts'
import type { Command } from './command.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions } from './host-options.ts'
import { openInstaller } from './installer-options.ts'
import { UsageError } from './usage-error.ts'

export const uninstall: Command = {
  usage: 'bulkhead uninstall ID [--project] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  ID                the id of an installed extension
  --project         from the layer of the project, not that of the user
${COMMON_DETAILS}`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, project: { type: 'boolean' } })
    const [id, ...more] = positionals
    if (id === undefined || more.length > 0) throw new UsageError('Name one extension after "uninstall".')
    const { installer } = await openInstaller(values)
    const { version, source } = await installer.uninstall(id)
    if (values.json) printJson({ uninstalled: true, id, version, source })
    else process.stdout.write(`Uninstalled ${id} ${version}.${source === 'in-place' ? ' Its folder is yours and was left where it is.' : ''}\n`)
    return 0
  },
}
