/** A place in a file that a person wrote. */
export interface WrittenPlace {
  /** From the folder of the extension, with `/` between segments. */
  readonly file: string
  readonly line: number
  readonly column: number
}

/** What built code was made of. Known only in the process that built it: a package does not contain it. For people. */
export interface CodeOrigins {
  /** The main module as it was written, from the folder of the extension. */
  readonly main: string
  /** Where a place of a built file was written. undefined for other files, and for code that the build added. */
  placeOf(file: string, line: number, column: number): WrittenPlace | undefined
  /** How the main module imports a written file or a builtin module: files and packages. Empty if it does not. */
  chainTo(imported: string): readonly string[]
  /** Where a module is imported by that name. undefined if it is not found. */
  importOf(specifier: string): Omit<WrittenPlace, 'column'> | undefined
  /** Where the code declares a key of the manifest, by its steps, with a tool by its name. undefined if not found. */
  declarationOf(steps: readonly string[]): Promise<WrittenPlace | undefined>
  /** The source map of a built file, as JSON with the URLs of written files, for a debugger. undefined for others. */
  sourceMapOf(file: string): string | undefined
}
