import type { ArgumentsReader, LockedTool } from '@bulkhead/contract'
import { bash } from './bash/bash.ts'
import { readBashArguments } from './bash/policy/analyze-command.ts'
import { edit, readEditArguments } from './edit/edit.ts'
import { git } from './git/git.ts'
import { readGitArguments } from './git/git-arguments.ts'
import { glob, readGlobArguments } from './glob/glob.ts'
import { grep, readGrepArguments } from './grep/grep.ts'
import { createHttpRequest, readRequestArguments } from './http-request/http-request.ts'
import type { BundledExtension } from './model/bundled-extension.ts'
import { pdfRead, readPdfArguments } from './pdf-read/pdf-read.ts'
import { question } from './question/question.ts'
import { read, readReadArguments } from './read/read.ts'
import { createSkill, type SkillOptions } from './skill/skill.ts'
import { createTask, type AgentRunner } from './task/task.ts'
import { todo } from './todo/todo.ts'
import { createToolSearch, type ToolCatalog } from './tool-search/tool-search.ts'
import { createWebFetch, readFetchArguments } from './web-fetch/web-fetch.ts'
import { createWebSearch, type SearchConfig } from './web-search/web-search.ts'
import { readWriteArguments, write } from './write/write.ts'

export type { BundledExtension }
export { createKitPrompts, type KitPrompts, readGuidance, readKits } from './own-prompts.ts'
export type { Kit } from './prompts/kits.ts'
export {
  composeSections, type Described, type OmittedPrompt, type PromptSection, type PromptSectionId, type PromptSections,
} from './prompts/prompt-sections.ts'
export type { FaultReader } from './prompts/yaml-files.ts'
export type { AgentRequest, AgentResult, AgentRunner } from './task/task.ts'
export type { SearchedTool, ToolCatalog } from './tool-search/tool-search.ts'
export { SHELF_THRESHOLD, ToolShelf } from './tool-search/tool-search.ts'

/** What the tools need from the embedder. If an option is missing, calls of its tool fail. */
export interface BundledOptions {
  /** Runs sub-agents for `task`. */
  readonly runAgent?: AgentRunner | undefined
  /** The tools that `tool_search` finds. */
  readonly catalog?: ToolCatalog | undefined
  /** The folders of `skill`. */
  readonly skills?: SkillOptions | undefined
  /** Hosts that `web_fetch` and `http_request` may reach. Default: every public host. */
  readonly fetchHosts?: readonly string[] | undefined
  /** The providers of `web_search`. */
  readonly search?: SearchConfig | undefined
}

/** Every tool that ships with the host. */
export const createBundledExtensions = (options: BundledOptions = {}): readonly BundledExtension[] => [
  read, write, edit, glob, grep, bash, todo, question,
  createTask(options.runAgent), createSkill(options.skills), createToolSearch(options.catalog),
  createWebFetch(options.fetchHosts), createWebSearch(options.search), createHttpRequest(options.fetchHosts), pdfRead,
  git,
]

/** The bundled tools without an embedder. */
export const bundledExtensions: readonly BundledExtension[] = createBundledExtensions()

/** How the host reads the arguments of these tools, whichever extension implements them. */
export const argumentsReaders: ReadonlyMap<LockedTool, ArgumentsReader> = new Map<LockedTool, ArgumentsReader>([
  ['bash', readBashArguments], ['read', readReadArguments], ['write', readWriteArguments], ['edit', readEditArguments],
  ['glob', readGlobArguments], ['grep', readGrepArguments], ['web_fetch', readFetchArguments],
  ['http_request', readRequestArguments], ['pdf_read', readPdfArguments],
  ['git', readGitArguments],
])

/** Imports code that tools load on first use, before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => Promise.allSettled([
  import('./web-fetch/html/html-to-markdown.ts'),
  import('./model/pdf/pdf-text.ts').then(({ pdfThread }) => pdfThread.load()), import('js-yaml'),
])
