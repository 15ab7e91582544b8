import { statSync } from 'node:fs'
import { BulkheadError } from '@bulkhead/contract'
import { accountName } from '../facade/folders.ts'
import { printJson } from './output.ts'
import { type Command, UsageError } from './command.ts'
import { agree, readConsent } from './consent.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, readOptions } from './host-options.ts'
import { INSTALLER_DETAILS, INSTALLER_OPTIONS, openInstaller } from './installer-options.ts'
import { planJson, planText } from './plan-text.ts'

export const CONSENT_OPTIONS = { 'yes': { type: 'boolean', short: 'y' }, 'accept': { type: 'string' }, 'dry-run': { type: 'boolean' } } as const
export const CONSENT_DETAILS = `  --yes             agree to a first installation, but not to an update that needs more permissions
  --accept DIGEST   agree only to the package with this digest (12 characters or more)
  --dry-run         show the changes, and write nothing`

export const install: Command = {
  usage: 'bulkhead install SPEC [--project] [--yes] [--accept DIGEST] [--dry-run] [--registry URL] [--json] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  SPEC              folder (./weather), tarball (weather-1.4.0.tgz) or package (@acme/weather@1.4.0);
                    a folder directly in "tools" of the layer is not copied
${CONSENT_DETAILS}
${INSTALLER_DETAILS}
${COMMON_DETAILS}

No code of the package runs during installation.

Exit code: 0 if installed, 1 if refused, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, ...INSTALLER_OPTIONS, ...CONSENT_OPTIONS })
    const [spec, ...more] = positionals
    if (spec === undefined || more.length > 0) throw new UsageError('Name one folder, tarball or package after "install".')
    const consent = readConsent(values)
    const { installer, progress } = await openInstaller(values)
    const plan = await installer.plan(spec).finally(() => progress.end()).catch((error: unknown) => { throw withFolder(error, spec) })
    const { id, version } = plan.extension
    // Standard output is for the result only.
    if (!values.json) process.stderr.write(planText(plan))
    if (values['dry-run']) {
      if (values.json) printJson({ installed: false, ...planJson(plan) })
      return plan.verdict.kind === 'refused' ? 1 : 0
    }
    await agree(plan, consent)
    const entry = await installer.install(plan, accountName())
    if (values.json) printJson({ installed: true, ...planJson(plan), accepted: entry.accepted })
    else process.stdout.write(plan.verdict.kind === 'unchanged' ? `${id} ${version} is already installed.\n` : `Installed ${id} ${version} in the ${plan.layer} layer.\n`)
    return 0
  },
}

/** A bare name is always a package. If a folder of that name exists, the error suggests `./NAME`. */
function withFolder(error: unknown, spec: string): unknown {
  const fault = BulkheadError.from(error)
  const isFolder = !/^[./]/.test(spec) && statSync(spec, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder || !fault.code.startsWith('InstallSource')) return error
  const message = `${fault.message} To install the folder, use ./${spec}`
  return new BulkheadError(fault.code, message, { cause: error, ...(fault.data !== undefined && { data: fault.data }) })
}
