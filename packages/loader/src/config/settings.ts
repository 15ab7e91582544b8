import { isAbsolute } from 'node:path'
import {
  BulkheadError, CONTRACT_VERSION, requireOptions, type ConfigFile, type ExtensionModule, type SkillDescriptor,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import valid from 'semver/functions/valid.js'
import type { MachinePolicyFile } from './machine-policy.ts'
import { sha512 } from '../model/digest.ts'
import { LOADER_LIMITS, type LoaderLimits } from '../model/limits.ts'
import { PUBLIC_GOOD_ROOT } from '../signature/public-good.ts'
import type { TrustMaterial } from '../signature/package-signatures.ts'

/** The default folder of the project layer. */
export const PROJECT_FOLDER = '.bulkhead'

/** An extension that ships with the host. Its manifest passes the same checks as any other. */
export interface BundledExtension {
  readonly manifest: unknown
  readonly module: ExtensionModule
}

/** The front matter of a skill in a folder of this name, or why it cannot be used, as the end of a sentence. */
export type ReadSkillHead = (
  text: string, folder: string,
) => Promise<Pick<SkillDescriptor, 'name' | 'description'> | string>

/** How skills are found. */
export interface SkillOptions {
  readonly readHead: ReadSkillHead
  /** Absolute paths of folders with skills of the user, besides `skills` in the global layer. */
  readonly userFolders?: readonly string[]
  /** Further folders in a workspace: those that the embedder's configuration names. */
  readonly paths?: readonly string[] | undefined
}

/** The extensions of the program for a configuration. `workspace`: the folder that is loaded, if there is one. */
export type BundledSource = (config: ConfigFile, workspace?: string) => readonly BundledExtension[]

export interface LoaderOptions {
  /** Compared with `requiredCoreVersion` of manifests. */
  readonly coreVersion: string
  readonly roots: {
    /** A folder with further bundled extensions. Each must have an integrity file. */
    readonly bundled?: string
    /** The folder of the global layer, such as ~/.bulkhead; null for none. */
    readonly global: string | null
    /** A configuration file to use in place of that of the global layer, to see what it would do. */
    readonly globalConfig?: string
    /** The name of the folder in a workspace. `.stud` works too. */
    readonly projectFolder?: string
    /** The folder whose node_modules has the packages in the embedder's configuration. Default: the global layer. */
    readonly packages?: string
    /** The policy that no configuration can loosen; null for none. */
    readonly machine?: MachinePolicyFile | null
  }
  /** A function if the extensions depend on the configuration. */
  readonly bundled: readonly BundledExtension[] | BundledSource
  /** The configuration below all files. */
  readonly defaults?: ConfigFile
  readonly limits?: Partial<LoaderLimits>
  /** Default: skills are not read. */
  readonly skills?: SkillOptions
  /**
   * The folder of the cache, so that unchanged packages are not read again. Default: no cache, and nothing is written.
   */
  readonly cache?: string
  /** A sigstore trusted root as JSON. Default: the public one, which ships with the loader. */
  readonly trustRoot?: Json
  /** The source of `trustRoot` and its date of publication, for reports. */
  readonly trustRootSource?: Pick<TrustMaterial, 'source' | 'date'>
}

export interface Settings {
  readonly coreVersion: string
  readonly bundledRoot: string | null
  readonly globalRoot: string | null
  readonly globalConfig: string | null
  readonly projectFolder: string
  readonly packagesRoot: string | null
  readonly machine: MachinePolicyFile | null
  readonly cache: string | null
  /** Cached results are valid for loaders with the same key. */
  readonly cacheKey: string
  readonly bundled: BundledSource
  readonly defaults: ConfigFile
  readonly limits: LoaderLimits
  readonly skills: SkillOptions | undefined
  readonly trustRoot: TrustMaterial
}

const GIVEN = { source: 'set by the host', date: null }

const OPTIONS: OptionForms<LoaderOptions> = {
  coreVersion: forms.text,
  roots: forms.fields({
    bundled: forms.text, global: forms.either(forms.text, forms.oneOf(null)), globalConfig: forms.text, projectFolder: forms.text,
    packages: forms.text, machine: forms.either(forms.object, forms.oneOf(null)),
  }),
  bundled: forms.either(forms.method, forms.list(forms.object)),
  defaults: forms.object, limits: forms.values(forms.above(0)), cache: forms.text, trustRoot: forms.anything,
  trustRootSource: forms.object, skills: forms.object,
}

/** Validates options and fills in defaults. Throws ConfigInvalid. */
export function resolveSettings(options: LoaderOptions): Settings {
  requireOptions('createLoader', options, OPTIONS, 'coreVersion', 'roots', 'bundled')
  const { coreVersion, roots, bundled, defaults = {}, cache = null, trustRootSource = GIVEN } = options
  const { bundled: bundledRoot = null, global: globalRoot, globalConfig = null, projectFolder = PROJECT_FOLDER } = roots
  const { packages: packagesRoot = globalRoot, machine = null } = roots
  if (valid(coreVersion) === null) throw wrong('/coreVersion', `"${coreVersion}" is not a version such as 1.0.0.`)
  const folders = [
    ['/roots/bundled', bundledRoot], ['/roots/global', globalRoot], ['/roots/globalConfig', globalConfig],
    ['/roots/packages', packagesRoot],
    ['/cache', cache], ['/roots/machine/file', machine && machine.file],
  ] as const
  for (const [path, folder] of folders) {
    if (folder !== null && !isAbsolute(folder ?? '')) {
      throw wrong(path, `"${folder}" must be an absolute path, or null.`)
    }
  }
  if (!/^[^/\\\0]+$/.test(projectFolder) || projectFolder === '.' || projectFolder === '..') {
    throw wrong('/roots/projectFolder', `"${projectFolder}" must be the name of one folder, such as ${PROJECT_FOLDER}.`)
  }
  const limits = { ...LOADER_LIMITS, ...options.limits }
  const trustRoot: TrustMaterial = options.trustRoot === undefined
    ? PUBLIC_GOOD_ROOT : { ...trustRootSource, json: options.trustRoot }
  const cacheKey = sha512(canonicalJson({
    coreVersion, contract: CONTRACT_VERSION, limits: { ...limits }, trustRoot: trustRoot.json,
  }))
  return {
    coreVersion, bundledRoot, globalRoot, globalConfig, projectFolder, packagesRoot, machine, cache,
    cacheKey, defaults, limits, trustRoot, skills: options.skills,
    bundled: typeof bundled === 'function' ? bundled : () => bundled,
  }
}

const wrong = (path: string, message: string) =>
  new BulkheadError('ConfigInvalid', `The option ${path} of createLoader: ${message}`, { data: { path } })
