import type { ArgumentsReader, BundledTool } from '@bulkhead/contract'
import type { ProgramHost } from './code-mode/code-mode.ts'
import type { FindLanguageServers } from './lsp/lsp.ts'
import { bundledExtension, type BundledExtension } from './model/bundled-extension.ts'
import { toolName, type ToolModule } from './model/tool-module.ts'
import type { SkillOptions } from './skill/skill.ts'
import type { Delegate } from './task/task.ts'
import { TOOL_LIST } from './tool-list.ts'
import type { ToolCatalog } from './tool-search/tool-search.ts'
import type { SearchConfig } from './web-search/web-search.ts'

/** What the tools need from the embedder. If an option is missing, calls of its tool fail. */
export interface BundledOptions {
  /** Runs sub-agents for `task`. */
  readonly delegate?: Delegate | undefined
  /** The tools that `tool_search` finds. */
  readonly catalog?: ToolCatalog | undefined
  /** The skills of `skill`. */
  readonly skills?: SkillOptions | undefined
  /** Hosts that `web_fetch`, `http_request` and `repo_clone` may reach. Default: every public host. */
  readonly fetchHosts?: readonly string[] | undefined
  /** The providers of `web_search`. */
  readonly search?: SearchConfig | undefined
  /** Where the programs of `code_exec` and `code_mode` run. */
  readonly programs?: ProgramHost | undefined
  /** The servers of `lsp`. */
  readonly languageServers?: FindLanguageServers | undefined
}

type Module = ToolModule<BundledOptions>

const TOOLS = Object.entries<Module>(TOOL_LIST)
const EXTENSIONS = [...Map.groupBy(TOOLS, ([folder, { extension = folder }]) => extension)]

const extensionOf = (id: string, members: readonly (readonly [string, Module])[], options: BundledOptions): BundledExtension =>
  bundledExtension(id, Object.fromEntries(members.map(([folder, { tool, createTool }]) =>
    [toolName(folder), tool ?? createTool!(options)])))

/** Those that need nothing from the embedder, made once for all hosts. */
const COMMON = new Map(EXTENSIONS.filter(([, members]) => members.every(([, { tool }]) => tool !== undefined))
  .map(([id, members]) => [id, extensionOf(id, members, {})]))

/** Every tool that ships with the host. */
export const createBundledExtensions = (options: BundledOptions = {}): readonly BundledExtension[] =>
  EXTENSIONS.map(([id, members]) => COMMON.get(id) ?? extensionOf(id, members, options))

/** The bundled tools without an embedder. */
export const bundledExtensions: readonly BundledExtension[] = createBundledExtensions()

/** How the host reads the arguments of these tools, whichever extension implements them. */
export const argumentsReaders: ReadonlyMap<BundledTool, ArgumentsReader> = new Map(
  TOOLS.flatMap(([folder, { readArguments }]) => readArguments ? [[toolName(folder), readArguments] as const] : []))

/** Imports code that tools load on first use, before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> =>
  Promise.allSettled([import('js-yaml'), ...TOOLS.map(async ([, { loadLate }]) => loadLate?.())])
