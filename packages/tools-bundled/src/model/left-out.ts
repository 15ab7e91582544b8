/** For the model: what a search did not look at. Nothing if it looked at everything. */
export const leftOutWords = (count: number | undefined): { readonly left_out?: number; readonly note?: string } =>
  !count ? {} : {
    left_out: count,
    note: `${count === 1 ? '1 file or folder is' : `${count} files or folders are`} left out, because rules deny reading `
      + 'them or ask a person first. To use one of them, call a tool with its path.',
  }
