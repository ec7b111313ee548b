def write(results, path, folder): pass
