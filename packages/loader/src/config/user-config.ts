import type { ConfigFile } from '@bulkhead/contract'
import { resolveConfig, type ConfigResolution } from './resolve-config.ts'
import { resolveSettings, type LoaderOptions } from './settings.ts'

/** What applies in every folder: the configuration of the user, the machine and the program, without a project. */
export const userConfig = (options: LoaderOptions, overrides?: ConfigFile): ConfigResolution =>
  resolveConfig(resolveSettings(options), null, overrides)
