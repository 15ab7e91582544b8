export interface FileStat {
  readonly kind: 'file' | 'directory'
  readonly size: number
  readonly modifiedMs: number
}
export interface DirectoryEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'other'
}
export interface ReadRange {
  /** First byte, from 0. */
  readonly start?: number
  /** The byte after the last one. */
  readonly end?: number
}

/** What was found. `leftOut`: how many are not in it because rules deny them or ask about them. Absent: none. */
export type Found<Item> = readonly Item[] & { readonly leftOut?: number }

/** Paths are relative to the workspace, or absolute inside the grant. */
export interface FileReader {
  read(path: string, range?: ReadRange): Promise<Uint8Array>
  readText(path: string, range?: ReadRange): Promise<string>
  list(path: string): Promise<Found<DirectoryEntry>>
  stat(path: string): Promise<FileStat>
  /**
   * Regular files below `path` (default: the workspace) whose relative path matches: `*` stays inside one name, `**`
   * crosses folders, `{a,b}` is either, everything else is literal. Finds only files inside the grant, does not follow
   * links, and sorts by name, folder by folder. `limit` is the maximum number of results.
   */
  glob(pattern: string, options?: { readonly path?: string; readonly limit?: number }): Promise<Found<string>>
  /**
   * Regular files below `path` whose relative path matches, newest first. As `glob`; in addition `?` is one character
   * and `[ab]` is one of these characters or the literal brackets. Skips ignored files and the folders of version
   * control. In the order `any`, many files are found faster.
   */
  find(pattern: string, options?: FindOptions): Promise<FilesFound>
  /** Lines of text files that match a regular expression in ripgrep's syntax. Skips binary and ignored files. */
  search(pattern: string, options?: SearchOptions): Promise<LinesFound>
  /** Changes of a file, or of everything below a folder, until the call ends or the reader stops. */
  watch(path: string): FileWatch
}
export interface FindOptions {
  /** Default: the workspace. */
  readonly path?: string
  /** Maximum number of results. */
  readonly limit?: number
  /** Default: newest. */
  readonly order?: 'newest' | 'any'
  /** For bundled tools: whether the file of a long result gets all that was found. */
  readonly save?: boolean
}
export interface FilesFound {
  readonly paths: readonly string[]
  /** How many there are, including those beyond the limit. */
  readonly total: number
  /** How many files are not among them because rules deny them or ask about them. Absent: none. */
  readonly leftOut?: number
  /** The end of what was saved, if it was more. */
  readonly last?: readonly string[]
}
export interface SearchOptions {
  /** A folder, or one file. Default: the workspace. */
  readonly path?: string
  /** Only files whose relative path matches; a pattern without a slash matches the name. */
  readonly glob?: string
  /** Only files of this ripgrep type, such as ts or py. */
  readonly type?: string
  readonly ignoreCase?: boolean
  /** Lines of context around each match. */
  readonly context?: number
  /** Whether a match may span lines and `.` matches a line break. */
  readonly multiline?: boolean
  /** The matching lines, or the number of matches per file. Default: lines. */
  readonly want?: 'lines' | 'counts'
  /** Maximum number of matches, or files, in the order of their paths. */
  readonly limit?: number
  /** For bundled tools: whether the file of a long result gets all that was found. */
  readonly save?: boolean
}
export interface LineFound {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Set if the line, or one around it, was cut. */
  readonly cut?: true
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}
export interface LinesFound {
  readonly matches: readonly LineFound[]
  readonly counts: readonly { readonly path: string; readonly count: number }[]
  /** How many lines match, including those beyond the limit. */
  readonly total: number
  /** How many files have a match. */
  readonly files: number
  /** How many files and folders could not be read. */
  readonly unread: number
  /** How many files were not searched because rules deny them or ask about them. Absent: none. */
  readonly leftOut?: number
  /** The end of what was saved, if it was more. */
  readonly lastMatches?: readonly LineFound[]
  readonly lastCounts?: LinesFound['counts']
}
export interface FileChange {
  readonly path: string
  readonly change: 'created' | 'changed' | 'removed'
}
/** Can be iterated once. Changes to one path that are not read yet are merged. */
export interface FileWatch extends AsyncIterable<FileChange> {
  /** Resolves when the watch is active. */
  readonly started: Promise<void>
}
export interface FileWriter {
  /** Atomic. Creates missing folders if the grant covers them. */
  write(path: string, content: string | Uint8Array): Promise<{ readonly bytes: number; readonly created: boolean }>
  /**
   * Replaces a string that occurs exactly once, or all occurrences. Other bytes stay unchanged. In a file with CRLF
   * line ends, both strings get CRLF too. Edits of one file run one after another. The tool must also be allowed to
   * read the file.
   */
  edit(path: string, oldText: string, newText: string, options?: { readonly all?: boolean }): Promise<Edited>
  /**
   * Changes several files, or none: also if one of them does not have the content that `before` states, and if the host
   * is killed and started again. Each file is named once. The tool must also be allowed to read files that exist.
   */
  apply(updates: readonly FileUpdate[]): Promise<readonly AppliedUpdate[]>
  /**
   * Removes a file or an empty folder, and with `recursive` a folder with everything in it. A link is then removed
   * itself and never followed; undo cannot put it back. Stops at the first name that the grant does not cover.
   */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>
}

/** One file of `apply`. */
export interface FileUpdate {
  readonly path: string
  /** What the file contains now. null: it does not exist. */
  readonly before: string | Uint8Array | null
  /** What it will contain. null: it is removed. */
  readonly after: string | Uint8Array | null
  /** Sets or clears the permission to execute it. Default: as it is, or as in `like`. */
  readonly executable?: boolean
  /** The file whose owner and permissions a new file gets. */
  readonly like?: string
}

export interface AppliedUpdate {
  readonly wasExecutable: boolean
}

export interface Edited {
  readonly replacements: number
  /** A unified diff of the change. */
  readonly diff: string
}
