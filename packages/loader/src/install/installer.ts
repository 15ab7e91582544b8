import { join, resolve } from 'node:path'
import {
  BulkheadError, requireOptions, type ExtensionDescriptor, type LockEntry, type Manifest, type ToolManifest,
} from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { meantNames } from '@bulkhead/kit/text'
import gt from 'semver/functions/gt.js'
import { resolveConfig } from '../config/resolve-config.ts'
import { resolveSettings, type BundledExtension, type Settings } from '../config/settings.ts'
import { outlineOf } from '../describe/extension.ts'
import { coveredFiles, SIGNATURE_FILE } from '../files/integrity.ts'
import { readPackage } from '../files/read-package.ts'
import { loadInstalled } from '../load/loader.ts'
import { register, type ProvenExtension } from '../load/register.ts'
import { installedFolder, isInstalled, lockEntryOf, type LockChange } from '../lock/lock-file.ts'
import { packageDigest } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import { packagePolicy } from '../prove/check-package.ts'
import { isMetadata } from '../prove/pipeline.ts'
import { checkConformance } from './conformance.ts'
import { compare, evaluate, type InstallerOptions, type InstallPlan, type NewerVersion } from './install-plan.ts'
import { LayerFiles } from './layer-files.ts'
import { obtainPackage, parseInstallSpec, provePackage, type ObtainedPackage } from './obtain-package.ts'
import { Registry } from './registry.ts'
import { locateProjectLayer } from '../trust/project-layer.ts'
import { TrustRenewal } from '../trust/trust-ledger.ts'

const OPTIONS: OptionForms<InstallerOptions> = {
  loader: forms.object, layer: forms.oneOf('global', 'project'), workspace: forms.text, cwd: forms.text,
  npmKeys: forms.anything,
  registry: forms.fields({
    url: forms.text, token: forms.text, authorization: forms.whole({ header: forms.text, below: forms.text }),
    signal: forms.signal, onProgress: forms.method,
  }),
  registryFor: forms.method,
}

/** Installs packages into one layer. Runs no code of a package, and writes nothing before a person has agreed. */
export class Installer {
  readonly #options: InstallerOptions
  readonly #settings: Settings
  readonly #root: string
  readonly #files: LayerFiles

  /** Throws ConfigInvalid for options that cannot be used, and PackageUnsafe for a project folder that is a link. */
  constructor(options: InstallerOptions) {
    requireOptions('Installer', options, OPTIONS, 'loader', 'layer', 'workspace', 'cwd')
    this.#options = options
    this.#settings = resolveSettings(options.loader)
    const { globalRoot, projectFolder } = this.#settings
    const root = options.layer === 'global' ? globalRoot : join(options.workspace, projectFolder)
    if (root === null) {
      throw new BulkheadError(
        'ConfigInvalid', 'There is no global layer to install into: the option /roots/global is null.',
      )
    }
    const layer = options.layer === 'global' ? undefined : locateProjectLayer(options.workspace, this.#settings)
    if (layer?.kind === 'unusable') {
      throw new BulkheadError('PackageUnsafe', `The project folder ${root} ${layer.what}, so nothing is written to it.`)
    }
    this.#root = root
    this.#files = new LayerFiles(root, this.#settings.limits)
  }

  /** Accepted extensions by id. Throws LockInvalid. */
  accepted(): ReadonlyMap<string, LockEntry> {
    return this.#files.lock()
  }

  /**
   * Obtains, proves and compares a package. `attestation` is a file that proves conformance. Writes nothing. Rejects
   * with the fault of the package.
   */
  async plan(given: string, { attestation }: { readonly attestation?: string | undefined } = {}): Promise<InstallPlan> {
    const { limits, trustRoot } = this.#settings
    const { npmKeys, cwd } = this.#options
    const spec = parseInstallSpec(given, cwd)
    const obtained = await obtainPackage(spec, {
      limits, trustRoot: trustRoot.json, registry: (name) => this.#registry(name),
      ...(npmKeys !== undefined && { npmKeys }),
    }, this.#root)
    const { layer } = this.#options
    const projectRoot = layer === 'project' ? this.#root : null
    const { extension, warnings, context } = await provePackage(obtained, this.#settings, layer, projectRoot)
    const { attestations = null } = obtained
    const { attestedBy: conformance, warnings: unproven } = await checkConformance(
      extension, resolveConfig(this.#settings, projectRoot, undefined),
      { spec, attestations, file: attestation && resolve(cwd, attestation) }, trustRoot.json,
    )
    const before = this.#files.lock().get(extension.id) ?? null
    await this.#refuseConflicts(extension, before)
    const comparison = compare(before, before === null ? null : await this.#manifestOf(extension.id, before), extension)
    const signedBy = extension.signer === undefined
      ? null : obtained.contents.digests.has(SIGNATURE_FILE) ? 'bundle' as const : 'npm' as const
    const verdict = evaluate(before, extension, obtained.source, comparison, packagePolicy(context, {
      layer, part: '', outline: extension,
    }))
    return Object.freeze({
      layer, source: obtained.source, extension, signedBy, conformance, before, ...comparison,
      warnings: [...warnings, ...unproven], verdict, contents: obtained.contents,
    })
  }

  /** Executes a plan. `by` is the person who agreed. Contract: a refused plan is never written. */
  async install(plan: InstallPlan, by: string): Promise<LockEntry> {
    const { extension, source, signedBy, before, contents, verdict } = plan
    if (verdict.kind === 'refused') throw new BulkheadError('UpdateRefused', verdict.message)
    const entry = lockEntryOf(extension, { source, signedBy, at: new Date(), by: by.slice(0, 256) })
    // No consent was requested, so the earlier one remains valid.
    const after = before !== null && verdict.kind === 'unchanged' ? { ...entry, accepted: before.accepted } : entry
    await this.#apply({ id: extension.id, before, after, ...(isInstalled(after) && { contents }) })
    return after
  }

  /** Removes an extension from the lock. The next change deletes its folder. Resolves with the removed entry. */
  async uninstall(id: string): Promise<LockEntry> {
    const accepted = this.#files.lock()
    const before = accepted.get(id)
    if (before === undefined) {
      throw new BulkheadError(
        'ExtensionNotFound',
        `"${id}" is not installed in the ${this.#options.layer} layer.${meantNames(id, accepted.keys())}`,
      )
    }
    await this.#apply({ id, before, after: null })
    return before
  }

  /** The latest version in the registry; null for a package from another source. */
  async newest(id: string, entry: LockEntry): Promise<NewerVersion | null> {
    const name = /^npm:(.+)@[^@]+$/.exec(entry.source)?.[1]
    if (name === undefined) return null
    const { version } = await (await this.#registry(name)).resolve(name, 'latest')
    return {
      id, name, current: entry.version, latest: version, isNewer: gt(version, entry.version),
      spec: `${name}@${version}`,
    }
  }

  async #apply(change: LockChange): Promise<void> {
    const { layer, workspace } = this.#options
    const trust = layer === 'project' ? await TrustRenewal.begin(workspace, this.#settings) : null
    const lockDigest = await this.#files.apply(change)
    trust?.renew(change, lockDigest)
  }

  async #registry(name: string): Promise<Registry> {
    const { registry, registryFor } = this.#options
    const options = registry ?? await registryFor?.(name)
    if (options !== undefined) return new Registry(options)
    throw new BulkheadError(
      'InstallSourceInvalid', 'No registry is configured. Set one with --registry or BULKHEAD_REGISTRY.',
    )
  }

  /** The manifest of the accepted version, to compare definitions; null if it is missing or has changed. */
  async #manifestOf(id: string, before: LockEntry): Promise<Manifest | null> {
    if (!isInstalled(before)) return null
    const location = installedFolder(this.#root, id, before.root)
    const read = await readPackage(location, this.#settings.limits, new Yielder(), isMetadata)
    if (!read.ok || packageDigest(coveredFiles(read.value.digests)) !== before.root) return null
    const obtained: ObtainedPackage = {
      source: before.source, location, contents: read.value, attested: before.signer, version: null, warnings: [],
    }
    const proven = await provePackage(obtained, this.#settings, this.#options.layer, null).catch(() => null)
    return proven?.extension.manifest ?? null
  }

  /** Two extensions of one layer with the same name are both refused at load, so a conflict must be refused here. */
  async #refuseConflicts(extension: ExtensionDescriptor, before: LockEntry | null): Promise<void> {
    const { loader, workspace, layer } = this.#options
    // Nothing may be written before a person agrees, not even to the cache.
    const report = await loadInstalled(loader, {
      workspace, trust: layer === 'project' ? 'once' : 'declined', projectDigest: 'any',
    })
    const replaced = before !== null && isInstalled(before)
      ? installedFolder(this.#root, extension.id, before.root) : extension.location
    const others = report.extensions.filter(({ location }) => location !== replaced)
    const fault = findConflict(extension, others, this.#settings.bundled(report.config.merged))
    if (fault !== undefined) throw new BulkheadError(fault.code, fault.message)
  }
}

const registrantOf = (descriptor: ExtensionDescriptor): ProvenExtension =>
  ({ descriptor, outline: outlineOf(descriptor.manifest) })

/** Why an extension conflicts with the others, in either direction. */
function findConflict(
  extension: ExtensionDescriptor, others: readonly ExtensionDescriptor[], bundled: readonly BundledExtension[],
): Fault | undefined {
  const tools = new Map<string, ToolManifest>(bundled.flatMap(({ manifest }) => {
    const parsed = manifestSchema.safeParse(manifest)
    return parsed.success ? parsed.data.tools.map((tool) => [tool.name, tool] as const) : []
  }))
  const registrant = registrantOf(extension)
  const { refused } = register([...others.map(registrantOf), registrant], tools)
  return refused.get(registrant) ?? refused.values().next().value
}
