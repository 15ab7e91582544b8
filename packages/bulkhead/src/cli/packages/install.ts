import { rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BulkheadError, type Diagnostic } from '@bulkhead/contract'
import { Installer, isSourceFolder, loadInstalled, PROJECT_FOLDER, type Packed } from '@bulkhead/loader'
import { accountName, homeFolder } from '../../facade/folders.ts'
import { canonicalFolder, loaderOptions } from '../../facade/loader-options.ts'
import { type CommandOptions, defineCommand, UsageError, type ValuesOf } from '../command.ts'
import { agree, planJson, planText, readConsent } from '../review.ts'
import {
  COMMON_OPTIONS, refuseRoot, SOURCE_OPTIONS, terminal, type HostValues, type SourceValues,
} from '../host-options.ts'
import { createProgress, diagnosticText, printJson, type Progress } from '../output.ts'
import { chooseRegistries, isTrusted, npmProject, REGISTRY_OPTION } from '../registries.ts'
import { temporaryFolder, writing } from '../write-file.ts'

export const CONSENT_OPTIONS = {
  'yes': {
    type: 'boolean', short: 'y',
    text: 'agree to a first installation, but not to an update that needs more permissions',
  },
  'accept': {
    type: 'string', value: 'DIGEST', text: 'agree only to the package with this digest (12 characters or more)',
  },
  'dry-run': { type: 'boolean', text: 'show the changes, and write nothing' },
} as const satisfies CommandOptions

export const INSTALLER_OPTIONS = {
  project: { type: 'boolean', text: 'use the project layer instead of the global layer' },
  ...REGISTRY_OPTION,
} as const satisfies CommandOptions

export type InstallerValues = HostValues & ValuesOf<typeof INSTALLER_OPTIONS>

export const install = defineCommand({
  usage: 'SPEC',
  operands: {
    SPEC: {
      text: `folder (./weather), tarball (weather-1.4.0.tgz) or package (@acme/weather@1.4.0);
a folder directly in "tools" of the layer is not copied`,
      completes: 'file',
    },
  },
  options: {
    ...CONSENT_OPTIONS,
    attestation: {
      type: 'string', value: 'FILE', completes: 'file',
      text: `proof of conformance, which is verified
(default: NAME-VERSION.conformance.json beside a tarball, or that of the registry)`,
    },
    ...SOURCE_OPTIONS, ...INSTALLER_OPTIONS, ...COMMON_OPTIONS,
  },
  details: `No code of the package runs during installation. A folder with TypeScript, dot files or node_modules is
packed first, as "bulkhead pack" does.`,
  exits: ['if installed', 'if refused'],
  examples: [
    { command: 'bulkhead install ./word-count --dry-run', text: 'what it would install, and what that may do' },
    { command: 'bulkhead install ./word-count --yes', text: 'for all your projects, without a question' },
    { command: 'bulkhead install @acme/weather@1.4.0 --project', text: 'a package of the registry, for this project' },
  ],

  async run({ values, positionals }) {
    const [spec, ...more] = positionals
    if (spec === undefined || more.length > 0) {
      throw new UsageError('Name one folder, tarball or package after "install".')
    }
    const consent = readConsent(values)
    await using opened = new AsyncDisposableStack()
    const packed = await packedSource(spec, values, opened)
    const { installer, progress } = await openInstaller(values)
    const { attestation } = values
    const plan = await installer.plan(packed?.file ?? spec, { attestation }).finally(() => progress.end())
      .catch((error: unknown) => { throw withFolder(error, spec) })
    const { id, version } = plan.extension
    // Standard output is for the result only.
    if (!values.json) process.stderr.write(planText(plan, packed))
    if (values['dry-run']) {
      if (values.json) printJson({ installed: false, ...planJson(plan, packed) })
      return plan.verdict.kind === 'refused' ? 1 : 0
    }
    await agree(plan, consent)
    const entry = await installer.install(plan, accountName())
    if (values.json) printJson({ installed: true, ...planJson(plan, packed), accepted: entry.accepted })
    else if (plan.verdict.kind === 'unchanged') process.stdout.write(`${id} ${version} is already installed.\n`)
    else process.stdout.write(`Installed ${id} ${version} in the ${plan.layer} layer.\n`)
    return 0
  },
})

/**
 * A tarball of the folder of an author, until `opened` is disposed: installing the folder as it is would copy tests,
 * settings and dependencies. undefined for everything else, and for folders that are used in place.
 */
async function packedSource(
  spec: string, values: InstallerValues & SourceValues, opened: AsyncDisposableStack,
): Promise<Packed & { readonly file: string } | undefined> {
  const given = resolve(spec)
  const { home, project, root, workspace } = values
  const layer = project ? join(resolve(workspace ?? '.'), PROJECT_FOLDER) : homeFolder(home)
  const isCopied = /^[./]/.test(spec) && dirname(given) !== join(layer, 'tools')
  if (!isCopied || (root === undefined && !isSourceFolder(given))) {
    refuseRoot(values)
    return undefined
  }
  const { readExtensionFolder } = await import('../extension-source.ts')
  const packed = await readExtensionFolder(spec, values)
  const { extension: { id, version }, tarball } = packed
  const folder = temporaryFolder('bulkhead-install-')
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, `${id}-${version}.tgz`)
  writing(file, () => writeFileSync(file, tarball))
  return { ...packed, file }
}

/** A bare name is always a package. If a folder of that name exists, the error suggests `./NAME`. */
function withFolder(error: unknown, spec: string): unknown {
  const fault = BulkheadError.from(error)
  const isFolder = !/^[./]/.test(spec) && statSync(spec, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder || !fault.code.startsWith('InstallSource')) return error
  const message = `${fault.message} To install the folder, use ./${spec}`
  return new BulkheadError(fault.code, message, { cause: error, ...(fault.data !== undefined && { data: fault.data }) })
}

export const uninstall = defineCommand({
  usage: 'ID',
  operands: { ID: { text: 'id of an installed extension', completes: 'extension' } },
  options: {
    project: { type: 'boolean', text: 'uninstall from the project layer instead of the global layer' },
    ...COMMON_OPTIONS,
  },
  examples: [{ command: 'bulkhead uninstall word-count', text: 'remove it from the global layer' }],

  async run({ values, positionals }) {
    const [id, ...more] = positionals
    if (id === undefined || more.length > 0) throw new UsageError('Name one extension after "uninstall".')
    const { installer } = await openInstaller(values)
    const { version, source } = await installer.uninstall(id)
    const missed = await missing(id, values)
    if (!values.json) process.stderr.write(missed.map((found) => diagnosticText(found, process.stderr)).join(''))
    if (values.json) printJson({ uninstalled: true, id, version, source, diagnostics: missed })
    else process.stdout.write(`Uninstalled ${id} ${version}.${source === 'in-place' ? NOT_DELETED : ''}\n`)
    return 0
  },
})

const NOT_DELETED = ' Its folder was not deleted, because it was not copied on installation.'

/** Diagnostics of extensions that depend on the removed one. */
async function missing(id: string, values: InstallerValues): Promise<readonly Diagnostic[]> {
  const { diagnostics } = await loadInstalled(loaderOptions(homeFolder(values.home)), {
    workspace: await canonicalFolder(values.workspace), trust: values.project ? 'once' : 'declined', projectDigest: 'any',
  })
  return diagnostics.filter(
    ({ code, message }) => code === 'DependencyMissing' && message.includes(`depends on "${id}"`),
  )
}

/** Installing into a project reads its layer, so the project must be trusted. */
export async function openInstaller(
  values: InstallerValues,
): Promise<{ readonly installer: Installer; readonly progress: Progress }> {
  const workspace = await canonicalFolder(values.workspace)
  const loader = loaderOptions(homeFolder(values.home))
  const layer = values.project ? 'project' as const : 'global' as const
  if (layer === 'project' && !values['trust-project'] && !await isTrusted(loader, workspace, terminal())) {
    const message = `${workspace} has its own tools or settings and is not trusted. Nothing was read or written.`
    throw new BulkheadError('ProjectTrustRequired', message)
  }
  const progress = createProgress('fetching')
  const project = npmProject(workspace, values, layer === 'project')
  const registries = chooseRegistries(values.registry, progress.report, project)
  return { installer: new Installer({ loader, layer, workspace, cwd: process.cwd(), ...registries }), progress }
}
