import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { SYMBOL_KIND_NUMBERS } from './answers.ts'

const SYMBOLS = { symbolKind: { valueSet: SYMBOL_KIND_NUMBERS } }

/**
 * What this client supports. It never edits: there is no applyEdit, no code action and no rename. Servers cannot
 * register methods later, because the first question would come before that.
 */
export const CLIENT_CAPABILITIES: JsonObject = {
  general: { positionEncodings: ['utf-16'] },
  workspace: {
    configuration: true, workspaceFolders: true, applyEdit: false, symbol: SYMBOLS,
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  textDocument: {
    synchronization: {}, definition: { linkSupport: true }, references: {},
    hover: { contentFormat: ['markdown', 'plaintext'] },
    documentSymbol: { ...SYMBOLS, hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { versionSupport: true }, diagnostic: {},
  },
  window: { workDoneProgress: true },
  // rust-analyzer reports with this whether it has loaded the project.
  experimental: { serverStatusNotification: true },
}

/** The capability of a server by the method that it is for. */
export const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['textDocument/definition', 'definitionProvider'], ['textDocument/references', 'referencesProvider'],
  ['textDocument/hover', 'hoverProvider'], ['textDocument/documentSymbol', 'documentSymbolProvider'],
  ['workspace/symbol', 'workspaceSymbolProvider'], ['textDocument/diagnostic', 'diagnosticProvider'],
])

const REFRESH = /^workspace\/\w+\/refresh$/
const MOST_SECTIONS = 1_000

/** The answer to a request of a server, if it needs nothing of the connection. undefined: there is no such method. */
export function answerTo(
  method: string, params: Json, root: { readonly uri: string; readonly name: string },
): Json | undefined {
  switch (method) {
    case 'workspace/configuration': {
      const items = isJsonObject(params) ? params['items'] : undefined
      return Array.isArray(items) ? items.slice(0, MOST_SECTIONS).map(() => null) : []
    }
    case 'workspace/workspaceFolders':
      return [{ ...root }]
    case 'workspace/applyEdit':
      return { applied: false, failureReason: 'This client does not apply edits.' }
    case 'window/showDocument':
      return { success: false }
    case 'client/registerCapability':
    case 'client/unregisterCapability':
    case 'window/workDoneProgress/create':
    case 'window/showMessageRequest':
      return null
    default:
      return REFRESH.test(method) ? null : undefined
  }
}
