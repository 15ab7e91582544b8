import type { Diagnostic } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { printJson } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { diagnosticText } from './diagnostic-text.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions } from './host-options.ts'
import { type InstallerValues, openInstaller, workspaceFolder } from './installer-options.ts'

export const uninstall: Command = {
  usage: 'bulkhead uninstall ID [--project] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  ID                id of an installed extension
  --project         uninstall from the project layer instead of the global layer
${COMMON_DETAILS}`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, project: { type: 'boolean' } })
    const [id, ...more] = positionals
    if (id === undefined || more.length > 0) throw new UsageError('Name one extension after "uninstall".')
    const { installer } = await openInstaller(values)
    const { version, source } = await installer.uninstall(id)
    const missed = await missing(id, values)
    if (!values.json) process.stderr.write(missed.map((found) => diagnosticText(found, process.stderr)).join(''))
    if (values.json) printJson({ uninstalled: true, id, version, source, diagnostics: missed })
    else process.stdout.write(`Uninstalled ${id} ${version}.${source === 'in-place' ? ' Its folder was not deleted, because it was not copied on installation.' : ''}\n`)
    return 0
  },
}

/** Diagnostics of extensions that depend on the removed one. */
async function missing(id: string, values: InstallerValues): Promise<readonly Diagnostic[]> {
  const { diagnostics } = await createLoader(loaderOptions(homeFolder(values.home)))
    .load({ workspace: workspaceFolder(values.workspace), trust: values.project ? 'once' : 'declined', projectDigest: 'any' })
  return diagnostics.filter(({ code, message }) => code === 'DependencyMissing' && message.includes(`depends on "${id}"`))
}
