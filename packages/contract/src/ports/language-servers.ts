/** A place in a text. Both numbers count from 0, and `character` counts UTF-16 code units. */
export interface TextPosition {
  readonly line: number
  readonly character: number
}

/** A file and its present content. */
export interface SourceFile {
  /** Relative to the workspace, or absolute inside it. */
  readonly path: string
  readonly text: string
}

export interface CodeLocation {
  /** Relative to the workspace. For a place outside of it: an absolute path, or a URI. */
  readonly path: string
  readonly isOutside: boolean
  readonly start: TextPosition
}

export interface CodeSymbol extends CodeLocation {
  readonly name: string
  /** Such as class, function or variable. */
  readonly kind: string
  /** The symbol that contains it. */
  readonly container?: string
}

export interface CodeDiagnostic {
  readonly severity: 'error' | 'warning' | 'information' | 'hint'
  readonly message: string
  readonly code?: string
  /** The program that found it. */
  readonly source?: string
  readonly start: TextPosition
}

/** Locations, symbols or diagnostics of one answer. An answer with so many may lack others. */
export const CODE_ITEMS = 5_000

/**
 * Answers questions about code with language servers, which are programs of third parties: their answers are untrusted
 * text. Each method rejects with CapabilityUnavailable if no server is configured for the file or the server cannot
 * answer such questions, with ServerUnavailable or ServerLost, with ToolExecutionFailed for an error of the server, or
 * with the signal's reason.
 */
export interface LanguageServers {
  definition(file: SourceFile, at: TextPosition, signal: AbortSignal): Promise<readonly CodeLocation[]>
  /** With the declaration. */
  references(file: SourceFile, at: TextPosition, signal: AbortSignal): Promise<readonly CodeLocation[]>
  /** Markdown; empty if there is nothing to say. */
  hover(file: SourceFile, at: TextPosition, signal: AbortSignal): Promise<string>
  /** In the order of the file, each after the one that contains it. */
  symbols(file: SourceFile, signal: AbortSignal): Promise<readonly CodeSymbol[]>
  /** Symbols of the whole workspace. The file chooses the server. */
  findSymbols(file: SourceFile, query: string, signal: AbortSignal): Promise<readonly CodeSymbol[]>
  diagnostics(file: SourceFile, signal: AbortSignal): Promise<readonly CodeDiagnostic[]>
}
