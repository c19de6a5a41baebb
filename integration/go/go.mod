module mezzanine.org/mezzanine

go 1.19

require github.com/linxGnu/grocksdb v1.7.12
