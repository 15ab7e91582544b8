import type { ArgumentsReader, BundledTool, ModuleTool } from '@bulkhead/contract'

/** What the file of a tool exports: `tool`, or `createTool` if the tool needs something from the embedder. */
export interface ToolModule<Options> {
  readonly tool?: ModuleTool
  createTool?(options: Options): ModuleTool
  /** How the host reads the arguments of this tool, whichever extension implements it. */
  readonly readArguments?: ArgumentsReader
  /** The extension of the tool. Default: one of its own, with the name of the folder. */
  readonly extension?: string
  /** Imports code that the tool loads on first use. */
  loadLate?(): Promise<unknown>
}

/** The folder `web-fetch` has the tool `web_fetch`. */
export const toolName = (folder: string): BundledTool => folder.replaceAll('-', '_') as BundledTool
export const folderOf = (tool: BundledTool): string => tool.replaceAll('_', '-')
