import type { ArgumentsReader, BundledTool } from '@bulkhead/contract'
import { applyPatch, readPatchArguments } from './apply-patch/apply-patch.ts'
import { bash } from './bash/bash.ts'
import { readBashArguments } from './bash/policy/analyze-command.ts'
import { createCodeExec } from './code-exec/code-exec.ts'
import { createCodeMode, type ProgramHost } from './code-mode/code-mode.ts'
import { readCodeModeArguments } from './code-mode/named-tools.ts'
import { edit, readEditArguments } from './edit/edit.ts'
import { git } from './git/git.ts'
import { readGitArguments } from './git/git-arguments.ts'
import { glob, readGlobArguments } from './glob/glob.ts'
import { grep, readGrepArguments } from './grep/grep.ts'
import { createHttpRequest, readRequestArguments } from './http-request/http-request.ts'
import { list, readListArguments } from './list/list.ts'
import { createLsp, type FindLanguageServers, readLspArguments } from './lsp/lsp.ts'
import type { BundledExtension } from './model/bundled-extension.ts'
import { pdfPool } from './model/pdf/pdf-text.ts'
import { parser } from './model/programs/syntax.ts'
import { pdfRead, readPdfArguments } from './pdf-read/pdf-read.ts'
import { plan } from './plan/plan.ts'
import { question } from './question/question.ts'
import { read, readReadArguments } from './read/read.ts'
import { readOverviewArguments, repoOverview } from './repo-overview/repo-overview.ts'
import { createRepoClone, readCloneArguments } from './repo-clone/repo-clone.ts'
import { createSkill, type SkillOptions } from './skill/skill.ts'
import { createTask, type Delegate } from './task/task.ts'
import { readTestArguments, testRunner } from './test-runner/test-runner.ts'
import { loadReports } from './test-runner/runners.ts'
import { todo } from './todo/todo.ts'
import { createToolSearch, type ToolCatalog } from './tool-search/tool-search.ts'
import { undo } from './undo/undo.ts'
import { pagePool } from './web-fetch/html/read-page.ts'
import { createWebFetch, readFetchArguments } from './web-fetch/web-fetch.ts'
import { createWebSearch, type SearchConfig } from './web-search/web-search.ts'
import { readWriteArguments, write } from './write/write.ts'

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

/** Every tool that ships with the host. */
export const createBundledExtensions = (options: BundledOptions = {}): readonly BundledExtension[] => [
  read, write, edit, undo, glob, grep, bash, todo, question, list, applyPatch, repoOverview, plan,
  createTask(options.delegate), createSkill(options.skills), createToolSearch(options.catalog),
  createWebFetch(options.fetchHosts), createWebSearch(options.search), createHttpRequest(options.fetchHosts), pdfRead,
  git, testRunner, createRepoClone(options.fetchHosts), createLsp(options.languageServers),
  createCodeExec(options.programs), createCodeMode(options.programs),
]

/** The bundled tools without an embedder. */
export const bundledExtensions: readonly BundledExtension[] = createBundledExtensions()

/** How the host reads the arguments of these tools, whichever extension implements them. */
export const argumentsReaders: ReadonlyMap<BundledTool, ArgumentsReader> = new Map<BundledTool, ArgumentsReader>([
  ['bash', readBashArguments], ['read', readReadArguments], ['write', readWriteArguments], ['edit', readEditArguments],
  ['glob', readGlobArguments], ['grep', readGrepArguments], ['web_fetch', readFetchArguments],
  ['http_request', readRequestArguments], ['pdf_read', readPdfArguments],
  ['git', readGitArguments], ['test_runner', readTestArguments], ['repo_clone', readCloneArguments],
  ['lsp', readLspArguments],
  ['list', readListArguments], ['apply_patch', readPatchArguments], ['repo_overview', readOverviewArguments],
  ['code_mode', readCodeModeArguments],
])

/** Imports code that tools load on first use, before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => Promise.allSettled([
  pagePool.load(), pdfPool.load(), import('./apply-patch/reverse-patch.ts'), import('js-yaml'),
  loadReports(), Promise.resolve().then(parser),
])
