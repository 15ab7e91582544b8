import { readFileSync, statSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BulkheadError, type ConfigFile, type VariableValues } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { parseJson, type Json } from '@bulkhead/kit/json'
import { PROJECT_FOLDER, type LoaderOptions } from '@bulkhead/loader'
import { createBundledExtensions, readSkillHead } from '@bulkhead/tools-bundled'
import { cacheFolder, homeFolder, machinePolicyFile } from './folders.ts'
import { CORE_VERSION } from './version.ts'

/** In the folder of the global layer: a sigstore trusted root to use in place of the one that ships with Bulkhead. */
export const TRUST_ROOT_FILE = 'trust-root.json'

/** The value of {user-data}. Separate from the files of the host, because tools may be allowed to write there. */
export const userFolder = (home: string, tenant?: string): string =>
  tenant === undefined ? join(home, 'data') : join(home, 'data', 'tenants', tenant)

/** What variables in rules stand for in the sessions of a folder. */
export const ruleVariables = (workspace: string, home: string | undefined): VariableValues =>
  ({ 'workspace': [workspace], 'user-data': [userFolder(homeFolder(home))] })

/** Skills of the user beside those in `skills` of the home. No tool may write there. */
export const userSkills = (home: string): string => join(userFolder(home), 'skills')

export interface LayerFolders {
  /** Name of the project layer's folder in the workspace. Default: `.bulkhead`. */
  readonly projectFolder?: string
  /**
   * Absolute path of a folder with `tools/` that are loaded as bundled. Each needs an integrity file. Default: none.
   */
  readonly bundledFolder?: string
  /**
   * Absolute path of the machine's policy. It must belong to root or to the user of this process. Default: the file of
   * the system, which must belong to root.
   */
  readonly machinePolicy?: string
  /** Absolute path of the cache for verification results. Default: `cache` in the home. */
  readonly cache?: string
}

const ROOT = 0

/** Shared by the host and the installer, so that both verify extensions in the same way. */
export function loaderOptions(
  home: string, folders: LayerFolders & { readonly config?: ConfigFile; readonly userConfig?: string } = {},
  bundled: LoaderOptions['bundled'] = createBundledExtensions(),
): LoaderOptions {
  const { projectFolder, bundledFolder, machinePolicy, config, userConfig } = folders
  return {
    coreVersion: CORE_VERSION, bundled,
    roots: {
      global: home, projectFolder: projectFolder ?? PROJECT_FOLDER,
      ...(bundledFolder !== undefined && { bundled: bundledFolder }),
      ...(userConfig !== undefined && { globalConfig: userConfig }),
      machine: machinePolicy === undefined
        ? { file: machinePolicyFile(), owners: [ROOT] }
        : { file: machinePolicy, owners: [ROOT, process.getuid?.() ?? ROOT] },
    },
    cache: cacheFolder(home, folders),
    skills: { readHead: readSkillHead, userFolders: [userSkills(home)], paths: skillPathsIn(config) },
    ...readTrustRoot(join(home, TRUST_ROOT_FILE)),
  }
}

/** The loader checks and reports the configuration, but later. */
function skillPathsIn(config: ConfigFile | undefined): readonly string[] {
  const paths: unknown = config?.skills?.paths
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
}

/** An unreadable trust root rejects all signatures. It does not fall back to another root. */
function readTrustRoot(path: string): Pick<LoaderOptions, 'trustRoot' | 'trustRootSource'> {
  const given = (trustRoot: Json, date: string | null) => ({ trustRoot, trustRootSource: { source: path, date } })
  try {
    const parsed = parseJson(readFileSync(path, 'utf8'))
    return given(parsed.ok ? parsed.value : null, statSync(path).mtime.toISOString().slice(0, 10))
  } catch (error) {
    return errorCode(error) === 'ENOENT' && isAbsent(path) ? {} : given(null, null)
  }
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'does not exist'], ['ENOTDIR', 'is not a folder'], ['EACCES', 'cannot be opened by this user'],
  ['ELOOP', 'is a symbolic link loop'],
])

/** The real path of a workspace. Rejects with ProjectPathInvalid. */
export async function canonicalFolder(path = process.cwd()): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const why = REASONS.get(errorCode(error)) ?? `cannot be opened: ${messageOf(error)}`
    throw new BulkheadError('ProjectPathInvalid', `The workspace "${path}" ${why}.`, { cause: error })
  }
}
