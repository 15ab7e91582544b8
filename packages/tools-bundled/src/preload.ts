/** Imports code that tools load on first use, before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => Promise.allSettled([
  import('./web-fetch/html/html-to-markdown.ts'), import('./web-fetch/pdf/pdf-text.ts').then(({ pdfThread }) => pdfThread.load()), import('yaml'),
])
