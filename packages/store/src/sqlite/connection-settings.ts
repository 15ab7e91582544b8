/** What the log shrinks to after it has been written back; it grows beyond this only while a long read goes on. */
const LOG_BYTES = 4 * 1024 ** 2

/** Settings of a connection, made each time. `synchronous`: FULL where a commit itself waits for the disk. */
export const settingsFor = (maxPages: number, synchronous: 'NORMAL' | 'FULL'): string => `
  PRAGMA synchronous = ${synchronous};
  PRAGMA journal_size_limit = ${LOG_BYTES};
  PRAGMA trusted_schema = OFF;
  PRAGMA cell_size_check = ON;
  PRAGMA max_page_count = ${maxPages};
`
