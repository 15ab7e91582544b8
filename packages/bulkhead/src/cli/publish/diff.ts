import { statSync } from 'node:fs'
import { styleText } from 'node:util'
import { BulkheadError, EXTENSION_ID_PATTERN, type ExtensionDescriptor } from '@bulkhead/contract'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import { createLoader, inspectPackage, type LoaderOptions, type RegistryOptions } from '@bulkhead/loader'
import type { BumpLevel, ExtensionVersion, VersionReport } from '@bulkhead/loader/compare'
import { homeFolder } from '../../facade/folders.ts'
import { canonicalFolder, loaderOptions } from '../../facade/loader-options.ts'
import { defineCommand, UsageError, type ValuesOf } from '../command.ts'
import { isTarball, readExtensionFolder } from '../extension-source.ts'
import { COMMON_OPTIONS, SOURCE_OPTIONS, type HostValues, type SourceValues } from '../host-options.ts'
import { printJson } from '../output.ts'
import { npmProject, REGISTRY_OPTION, registryReader } from '../registries.ts'

const FORMS = 'folder (./weather), tarball (weather-1.4.0.tgz), package of a registry (@acme/weather, weather@1.4.0) or id of an\ninstalled extension (weather)'

export const diff = defineCommand({
  usage: 'A B',
  operands: {
    A: { text: `the earlier version: ${FORMS}`, completes: 'file' },
    B: { text: 'the later version, in the same forms', completes: 'file' },
  },
  options: { ...REGISTRY_OPTION, ...SOURCE_OPTIONS, ...COMMON_OPTIONS },
  details: `For publishers. Lists what changed and the version that it needs:
  major  a tool or a field of its result is gone, arguments or configurations that were valid may be rejected, results
         may be other than before, it may do more, approvals change, or fewer hosts can run it
  minor  a new tool, argument, option of the configuration or field of the result; it may do less
  patch  anything else, such as descriptions and code
A change of a schema that cannot be compared counts as major. Before 1.0.0, a major change needs a new minor version and
any other change a new patch version. No code is run, and nothing is written. A package of a registry is named with its
scope or a version; without a version, the latest one is compared.`,
  exits: ['if the version of B is high enough', 'if it is too low'],
  examples: [
    { command: 'bulkhead diff word-count-0.1.0.tgz ./word-count', text: 'the published version and your working copy' },
    { command: 'bulkhead diff @acme/word-count ./word-count', text: 'the latest version of the registry instead' },
    { command: 'bulkhead diff word-count-0.1.0.tgz ./word-count --json', text: 'the same for scripts' },
  ],

  async run({ values, positionals: [a, b, ...more] }) {
    if (a === undefined || b === undefined || more.length > 0) {
      throw new UsageError('Name two versions of an extension after "diff".')
    }
    const { compareVersions } = await import('@bulkhead/loader/compare')
    const [before, after] = [await readVersion(a, values), await readVersion(b, values)]
    const { needs, ...report } = compareVersions(before, after)
    if (values.json) printJson(report)
    else process.stdout.write(reportText(after.manifest.id, { needs, ...report }))
    return report.ok ? 0 : 1
  },
})

/** An id cannot contain a dot or a slash, so files in the working directory do not change the meaning. */
async function readVersion(given: string, values: DiffValues): Promise<ExtensionVersion> {
  if (EXTENSION_ID_PATTERN.test(given)) return versionOf(await readInstalled(given, values))
  const isPackage = /^(?:@[^/\\]+\/)?[^/\\]+$/.test(given) && given.includes('@') && !isTarball(given)
  return versionOf(isPackage ? await readPublished(given, values) : await readPath(given, values))
}

export type DiffValues = HostValues & SourceValues & ValuesOf<typeof REGISTRY_OPTION>

export async function versionOf({ manifest, code }: ExtensionDescriptor): Promise<ExtensionVersion> {
  return { manifest, files: code.kind === 'files' ? await code.readFiles() : new Map() }
}

/** A package of a registry. The configuration of this machine has no part in it. */
export async function readPublished(
  spec: string, values: DiffValues, registryFor = readerFor(values),
): Promise<ExtensionDescriptor> {
  return (await inspectPackage(spec, process.cwd(), unconfigured(values.home), { anyCore: true, registryFor })).extension
}

const readerFor = (values: DiffValues) => async (name: string): Promise<RegistryOptions> =>
  registryReader(values.registry, npmProject(await canonicalFolder(values.workspace), values))(name)

function unconfigured(home: string | undefined): LoaderOptions {
  const { cache: _, roots, ...options } = loaderOptions(homeFolder(home))
  return { ...options, roots: { ...roots, global: null, machine: null } }
}

/** Without the configuration of this machine, which has no part in the comparison. */
async function readPath(path: string, values: SourceValues): Promise<ExtensionDescriptor> {
  const reading = { anyCore: true }
  if (!isTarball(path)) return (await readExtensionFolder(path, values, undefined, reading)).extension
  const given = /^[./]/.test(path) ? path : `./${path}`
  return (await inspectPackage(given, process.cwd(), unconfigured(values.home), reading)).extension
}

export async function readInstalled(id: string, values: HostValues): Promise<ExtensionDescriptor> {
  const { extensions, absent } = await createLoader(loaderOptions(homeFolder(values.home))).load({
    workspace: await canonicalFolder(values.workspace), trust: values['trust-project'] ? 'once' : 'declined',
    projectDigest: 'any',
  })
  const installed = extensions.filter(({ layer }) => layer !== 'bundled')
  const found = installed.findLast((extension) => extension.id === id)
  if (found !== undefined) return found
  const isFolder = statSync(id, { throwIfNoEntry: false })?.isDirectory() === true
  const advice = absent?.has(id) ? ' It is disabled or was refused; bulkhead verify shows why.'
    : isFolder ? ` To compare the folder, use ./${id}` : meantNames(id, installed.map((extension) => extension.id))
  throw new BulkheadError('ExtensionNotFound', `"${id}" is not installed.${advice}`)
}

const COLORS = { major: 'red', minor: 'yellow', patch: 'dim' } as const

export function reportText(id: string, { from, to, changes, required, ok, needs }: VersionReport): string {
  const group = (level: BumpLevel): readonly string[] => {
    const lines = changes.filter((change) => change.level === level)
      .map(({ subject, path, text }) => visibleText(`  ${subject}${path === undefined ? '' : ` ${path}`}: ${text}`))
    return lines.length === 0 ? [] : [styleText(COLORS[level], level), ...lines, '']
  }
  const verdict = required === 'none' ? `Nothing changed: needs no new version, has ${to}` : `needs ${needs}, has ${to}`
  return [
    styleText('bold', `${id} ${from} to ${to}`), '', ...group('major'), ...group('minor'), ...group('patch'),
    styleText(ok ? 'green' : 'red', verdict), '',
  ].join('\n')
}
