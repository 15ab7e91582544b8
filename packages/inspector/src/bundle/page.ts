import type { PageCode } from './page-code.ts'

/** The files of the page. Loaded late: in a published package the module is the whole page, as text. */
export const pageCode = async (): Promise<PageCode> => (await import('./page-code.ts')).pageCode()
